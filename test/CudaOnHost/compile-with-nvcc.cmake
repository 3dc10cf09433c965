# cmake -DSOURCE=runtime -DBUILD=dir -DTEST=TypesTest.cpp -P compile-with-nvcc.cmake
#
# Builds the CUDA runtime for sm_80 and sm_90, then compiles and runs the test of its tables against the toolkit's headers.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G Ninja -DMESHRT_CUDA=ON -DCMAKE_BUILD_TYPE=Release
                        -DMESHRT_TYPES_TEST=${TEST} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BUILD}/cuda_types_test COMMAND_ERROR_IS_FATAL ANY)
