#include "Generate.h"
#include "Layout.h"
#include "meshrt/philox.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

using namespace meshrt;

int32_t meshrt::sampleToken(const std::vector<float> &logits,
                            double temperature, double u) {
  auto largest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return static_cast<int32_t>(largest - logits.begin());
  std::vector<double> cumulative(logits.size());
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    cumulative[i] = sum +=
        std::exp((static_cast<double>(logits[i]) - *largest) / temperature);
  auto token =
      std::upper_bound(cumulative.begin(), cumulative.end(), u * sum);
  return static_cast<int32_t>(std::min<size_t>(token - cumulative.begin(),
                                               logits.size() - 1));
}

static std::vector<int32_t> encodePrompt(const Vocabulary &vocabulary,
                                         const std::string &prompt) {
  if (vocabulary.kind() != Vocabulary::Ids)
    return vocabulary.encode(
        reinterpret_cast<const uint8_t *>(prompt.data()),
        static_cast<int64_t>(prompt.size()), "--prompt");
  std::vector<int32_t> tokens;
  const char *next = prompt.data(), *end = next + prompt.size();
  while (next < end) {
    int32_t token;
    auto [stop, error] = std::from_chars(next, end, token);
    if (error != std::errc() || (stop < end && *stop != ' ' && *stop != ','))
      throw userError("--prompt takes token ids (\"464 3290\"), got '{}'",
                      prompt);
    tokens.push_back(token);
    next = stop == end ? end : stop + 1;
  }
  return tokens;
}

/// The logits after position `time` of row 0: the elements of the result along
/// the dims that are neither batch nor time.
static std::vector<float> logitsAt(Session &session, const Program &program,
                                   const Tensor &result, int64_t time) {
  std::vector<int64_t> at;
  int64_t classes = 1;
  for (const Dim &dim : result.dims) {
    bool isTime = dim.name == program.data.timeDim;
    bool isRow = dim.name == program.data.batchDim ||
                 (!program.data.microDim.empty() &&
                  dim.name == program.data.microDim);
    at.push_back(isTime ? time : isRow ? 0 : -1);
    if (!isTime && !isRow)
      classes *= dim.size;
  }
  std::vector<float> logits(classes);
  if (result.type != ElementType::BF16) {
    gatherSlice(session.device(), program.mesh, result, at, logits.data());
    return logits;
  }
  std::vector<bf16> narrow(classes);
  gatherSlice(session.device(), program.mesh, result, at, narrow.data());
  std::copy(narrow.begin(), narrow.end(), logits.begin());
  return logits;
}

void meshrt::generateText(Session &session, const Program &program,
                          const CommandLine &line) {
  const Step &step = program.forward;
  if (!step.run || step.data.size() != 1 || step.outputs.empty() ||
      program.data.timeDim.empty() ||
      (step.outputs[0].value.type != ElementType::F32 &&
       step.outputs[0].value.type != ElementType::BF16))
    throw userError("model '{}' does not map a sequence of tokens to logits: "
                    "nothing to generate",
                    program.name);
  if (line.load.empty())
    throw userError("generate needs trained weights: give --load FILE");

  // A model of a text speaks characters or bytes; one of a token file, ids.
  Vocabulary vocabulary = Vocabulary::bytes();
  if (session.data() && session.data()->vocabulary())
    vocabulary = *session.data()->vocabulary();
  else if (!session.state().characters.empty())
    vocabulary = Vocabulary::fromCharacters(session.state().characters);
  else if (program.data.kind == DataSource::Tokens || program.data.vocab > 256)
    vocabulary = Vocabulary::ids();
  int64_t vocab = program.data.vocab;

  std::vector<int32_t> tokens = encodePrompt(vocabulary, line.prompt);
  for (int32_t token : tokens)
    if (token < 0 || (vocab > 0 && token >= vocab))
      throw userError("--prompt: token {} is not below the vocabulary's size "
                      "{}",
                      token, vocab);
  bool echo = !tokens.empty();
  if (tokens.empty()) // begin as after a line's end, where there is one
    tokens = vocabulary.kind() == Vocabulary::Ids ||
                     (vocabulary.kind() == Vocabulary::Characters &&
                      vocabulary.characters().find('\n') == std::string::npos)
                 ? std::vector<int32_t>{0}
                 : encodePrompt(vocabulary, "\n");
  bool root = session.device().isRoot();
  if (root && echo)
    for (int32_t token : tokens)
      std::fputs(vocabulary.decode(token).c_str(), stdout);

  const DataInput &input = step.data[0];
  int64_t length = 1;
  for (const Dim &dim : input.value.dims)
    if (dim.name == program.data.timeDim)
      length = dim.size;
  PhiloxStream random{static_cast<uint32_t>(session.state().seed),
                      hash32("generate"), 0, 0};
  std::vector<int32_t> batch(globalCount(input.value), 0);
  for (int64_t i = 0; i < line.tokens; ++i) {
    int64_t used = std::min<int64_t>(length, tokens.size());
    std::fill(batch.begin(), batch.end(), 0);
    std::copy(tokens.end() - used, tokens.end(), batch.begin());
    scatterTensor(session.device(), program.mesh, input.value, batch.data());
    session.runWithData(step, i, line.tokens);
    std::vector<float> logits =
        logitsAt(session, program, step.outputs[0].value, used - 1);
    if (vocabulary.size() > 0 &&
        vocabulary.size() < static_cast<int64_t>(logits.size()))
      logits.resize(vocabulary.size()); // ids no text can hold
    int32_t token = static_cast<int32_t>(session.device().agree(
        sampleToken(logits, line.temperature, random.uniform(i))));
    tokens.push_back(token);
    if (root) {
      std::fputs(vocabulary.decode(token).c_str(), stdout);
      std::fflush(stdout);
    }
  }
  if (root)
    std::fputc('\n', stdout);
}
