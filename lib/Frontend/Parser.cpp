//===- Parser.cpp - runs ANTLR and words its errors --------------------------===//
//
// Four guards stand before the generated parser, so that any bytes at all give a located error in bounded time and stack: the text is
// UTF-8 without NUL; at most kMaxTokens tokens; brackets nest at most kMaxNesting deep; and, for nesting without brackets (`if a then
// if b then …`), the parser's own depth is at most kMaxRuleDepth.
//
// This is the only directory compiled with exceptions (ANTLR's); none leaves parseFile.
//
//===----------------------------------------------------------------------===//
#include "Parser.h"
#include "AstBuilder.h"
#include "MeshLexer.h"
#include "MeshParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"

using namespace meshc;
using namespace meshc::ast;
using grammar::MeshLexer;
using grammar::MeshParser;

static constexpr size_t kMaxTokens = 200'000;
static constexpr size_t kMaxNesting = 100;
static constexpr unsigned kMaxRuleDepth = 2500;

namespace {
/// Leaves the generated parser early; never leaves this file.
struct StopParsing {};

/// Words the parser's errors.
class ErrorListener : public antlr4::BaseErrorListener {
public:
  ErrorListener(Diagnostics &diagnostics, uint32_t file) : diagnostics(diagnostics), file(file) {}

  void syntaxError(antlr4::Recognizer *recognizer, antlr4::Token *token, size_t line, size_t column, const std::string &,
                   std::exception_ptr) override {
    if (line == lastLine)
      return; // what follows an error on its line is mostly its echo
    lastLine = line;
    auto *parser = static_cast<MeshParser *>(recognizer);
    Loc loc{file, static_cast<uint32_t>(line), static_cast<uint32_t>(column + 1)};
    std::string found = describe(token);
    std::string expected = describeExpected(*parser);
    if (isKeyword(token) && llvm::StringRef(expected).contains("a name"))
      diagnostics.error(loc) << found << " is a word of the language and cannot be a name";
    else if (expected.empty())
      diagnostics.error(loc) << "unexpected " << found << " in " << place(*parser);
    else
      diagnostics.error(loc) << "expected " << expected << " before " << found;
    if (diagnostics.tooMany())
      throw StopParsing();
  }

private:
  static bool isKeyword(antlr4::Token *token) {
    std::string text = token->getText();
    return token->getType() != antlr4::Token::EOF && token->getType() != MeshLexer::IDENT && !text.empty() &&
           llvm::isAlpha(text.front());
  }
  static std::string describe(antlr4::Token *token) {
    if (token->getType() == antlr4::Token::EOF)
      return "the end of the file";
    std::string text = token->getText();
    return "'" + (text.size() > 40 ? text.substr(0, 37) + "..." : text) + "'";
  }

  /// What could have stood here, if that is short enough to help.
  static std::string describeExpected(MeshParser &parser) {
    const antlr4::misc::IntervalSet set = parser.getExpectedTokens();
    const auto &vocabulary = parser.getVocabulary();
    bool expression = set.contains(static_cast<size_t>(MeshLexer::INT));
    bool name = set.contains(static_cast<size_t>(MeshLexer::IDENT));
    llvm::SmallVector<std::string> words;
    for (ssize_t type : set.toList()) {
      if (type == static_cast<ssize_t>(antlr4::Token::EOF))
        continue;
      std::string text = vocabulary.getLiteralName(type);
      if (text.empty()) {
        if (type == MeshLexer::STRING && !expression)
          words.push_back("a string");
        continue;
      }
      bool isWord = llvm::isAlpha(text[1]);
      if ((name && isWord) || (expression && (isWord || text == "'('" || text == "'-'")))
        continue;
      words.push_back(text);
    }
    if (expression)
      words.insert(words.begin(), "an expression");
    else if (name)
      words.insert(words.begin(), "a name");
    if (words.empty() || words.size() > 4)
      return {};
    std::string last = words.pop_back_val();
    return words.empty() ? last : llvm::join(words, ", ") + " or " + last;
  }

  /// The construct being read, in words.
  static llvm::StringRef place(MeshParser &parser) {
    for (antlr4::RuleContext *ctx = parser.getRuleContext(); ctx; ctx = static_cast<antlr4::RuleContext *>(ctx->parent)) {
      switch (ctx->getRuleIndex()) {
      case MeshParser::RuleArgs: return "the arguments of a call";
      case MeshParser::RuleShape:
      case MeshParser::RuleParamShape: return "a shape";
      case MeshParser::RuleFormals: return "the formals of a function";
      case MeshParser::RuleLayoutDecl: return "the layout";
      case MeshParser::RuleDataDecl: return "the data block";
      case MeshParser::RuleTrainDecl: return "the train block";
      case MeshParser::RuleEvalDecl: return "the eval block";
      case MeshParser::RuleBlock: return "a function's body";
      case MeshParser::RuleExpr: return "an expression";
      default: break;
      }
    }
    return "this file; expected a declaration such as 'dim', 'fn', 'model', 'layout' or 'train'";
  }

  Diagnostics &diagnostics;
  uint32_t file;
  size_t lastLine = 0;
};

/// Stops a parse that nests too deep without brackets.
class DepthListener : public antlr4::tree::ParseTreeListener {
public:
  DepthListener(Diagnostics &diagnostics, uint32_t file) : diagnostics(diagnostics), file(file) {}
  void enterEveryRule(antlr4::ParserRuleContext *ctx) override {
    if (++depth <= kMaxRuleDepth)
      return;
    antlr4::Token *start = ctx->getStart();
    diagnostics.error({file, static_cast<uint32_t>(start->getLine()), static_cast<uint32_t>(start->getCharPositionInLine() + 1)})
        << "this is nested too deep; name parts of it with 'let'";
    throw StopParsing();
  }
  void exitEveryRule(antlr4::ParserRuleContext *) override { --depth; }
  void visitTerminal(antlr4::tree::TerminalNode *) override {}
  void visitErrorNode(antlr4::tree::ErrorNode *) override {}

private:
  Diagnostics &diagnostics;
  uint32_t file;
  unsigned depth = 0;
};
} // namespace

/// The place of byte `offset`.
static Loc locate(llvm::StringRef text, size_t offset, uint32_t file) {
  llvm::StringRef before = text.take_front(offset);
  return {file, static_cast<uint32_t>(before.count('\n') + 1), static_cast<uint32_t>(offset - (before.rfind('\n') + 1) + 1)};
}

/// Reports the first byte that is not text.
static bool checkEncoding(llvm::StringRef text, uint32_t file, Diagnostics &diagnostics) {
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.bytes_begin()), *at = begin;
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.bytes_end());
  while (at != end) {
    if (*at != 0 && *at < 0x80) {
      ++at;
      continue;
    }
    if (*at == 0 || !llvm::isLegalUTF8Sequence(at, end)) {
      diagnostics.error(locate(text, at - begin, file))
          << (*at == 0 ? "the file contains a NUL byte" : "the file is not UTF-8 text: byte 0x" + llvm::utohexstr(*at))
          << "; is this a program?";
      return false;
    }
    at += llvm::getNumBytesForUTF8(*at);
  }
  return true;
}

/// ANTLR counts code points; hand it bytes as code points, so that its columns are bytes like everybody's.
static std::string bytesAsCodePoints(llvm::StringRef text) {
  std::string result;
  result.reserve(text.size());
  for (unsigned char c : text) {
    if (c >= 0x80) {
      result += static_cast<char>(0xC0 | (c >> 6));
      result += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      result += static_cast<char>(c);
    }
  }
  return result;
}

/// Reads all tokens; false, with errors reported, if there are characters that are no token, too many tokens or brackets too deep.
static bool readTokens(MeshLexer &lexer, uint32_t file, Diagnostics &diagnostics,
                       std::vector<std::unique_ptr<antlr4::Token>> &tokens) {
  unsigned before = diagnostics.numErrors();
  size_t nesting = 0, lastLine = 0;
  while (true) {
    std::unique_ptr<antlr4::Token> token = lexer.nextToken();
    Loc loc{file, static_cast<uint32_t>(token->getLine()), static_cast<uint32_t>(token->getCharPositionInLine() + 1)};
    size_t type = token->getType();
    bool stray = type == MeshLexer::STRAY || type == MeshLexer::UNFINISHED_STRING || type == MeshLexer::UNFINISHED_COMMENT;
    if (stray && loc.line != lastLine) {
      lastLine = loc.line;
      std::string text = token->getText();
      if (type == MeshLexer::UNFINISHED_STRING)
        diagnostics.error(loc) << "this string has no closing '\"' on its line";
      else if (type == MeshLexer::UNFINISHED_COMMENT)
        diagnostics.error(loc) << "this comment has no closing '*/'";
      else if (llvm::isPrint(text.front()))
        diagnostics.error(loc) << "unexpected character '" << text << "'";
      else
        diagnostics.error(loc) << "unexpected character outside strings and comments";
      if (diagnostics.tooMany())
        return false;
    }
    if (type != antlr4::Token::EOF) {
      char first = token->getText().front();
      if (first == '(' || first == '[' || first == '{')
        ++nesting;
      else if ((first == ')' || first == ']' || first == '}') && nesting)
        --nesting;
      if (nesting > kMaxNesting) {
        diagnostics.error(loc) << "brackets are nested more than " << kMaxNesting << " deep; name parts of this with 'let'";
        return false;
      }
      if (tokens.size() >= kMaxTokens) {
        diagnostics.error(loc) << "the file has more than " << kMaxTokens << " tokens; divide it with 'import'";
        return false;
      }
    }
    tokens.push_back(std::move(token));
    if (type == antlr4::Token::EOF)
      return diagnostics.numErrors() == before;
  }
}

/// Runs the parser; exceptions pass through.
static llvm::ArrayRef<Decl *> parseText(llvm::StringRef text, uint32_t file, AstArena &arena, Diagnostics &diagnostics) {
  antlr4::ANTLRInputStream input(bytesAsCodePoints(text));
  MeshLexer lexer(&input);
  lexer.removeErrorListeners(); // STRAY matches everything: the lexer has no errors
  std::vector<std::unique_ptr<antlr4::Token>> tokens;
  unsigned before = diagnostics.numErrors();
  if (!readTokens(lexer, file, diagnostics, tokens))
    return {};
  antlr4::ListTokenSource source(std::move(tokens));
  antlr4::CommonTokenStream stream(&source);
  MeshParser parser(&stream);
  ErrorListener errors(diagnostics, file);
  DepthListener depth(diagnostics, file);
  parser.removeErrorListeners();
  parser.addErrorListener(&errors);
  parser.addParseListener(&depth);
  MeshParser::FileContext *tree = parser.file();
  if (diagnostics.numErrors() != before)
    return {};
  return AstBuilder(arena, diagnostics, file).build(tree);
}

File *meshc::parseFile(llvm::StringRef text, llvm::StringRef name, uint32_t file, AstArena &arena, Diagnostics &diagnostics) {
  unsigned before = diagnostics.numErrors();
  if (!checkEncoding(text, file, diagnostics))
    return nullptr;
  if (text.trim().empty()) {
    diagnostics.error({file, 1, 1}) << "the file is empty; a program has a 'model' and a 'train' block";
    return nullptr;
  }
  auto *result = arena.make<File>();
  result->index = file;
  result->name = arena.string(name);
  try {
    result->decls = parseText(text, file, arena, diagnostics);
  } catch (const StopParsing &) {
    // Reported where it was thrown.
  } catch (const std::exception &) {
    diagnostics.error({file, 1, 1}) << "the parser cannot read this file";
  }
  return diagnostics.numErrors() == before ? result : nullptr;
}
