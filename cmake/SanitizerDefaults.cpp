//===- SanitizerDefaults.cpp - options of AddressSanitizer ----------------------===//
//
// LLVM's libraries are not built with the sanitizer, but the allocators in its headers poison what they have not handed out yet. Memory
// that such a header poisons and a library's code uses would be reported, so poisoning by hand is off. Leaks are LLVM's uniqued
// types and attributes and the graphs of cyclic references ANTLR keeps; they are not looked for.
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0:detect_leaks=0"; }
