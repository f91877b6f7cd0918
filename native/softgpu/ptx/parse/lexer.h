// Splits PTX text into tokens. Comments and line breaks vanish; every token knows its line.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::ptx {

enum class TokenKind : uint8_t { kEnd, kWord, kNumber, kString, kPunctuation };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool spaced = false;   // white space or a comment stands before it
  char punctuation = 0;  // the character, for kPunctuation
  uint8_t literal = 0;   // kNumber: 0 integer, 1 f32 bits, 2 f64 bits
  uint32_t line = 0;
  std::string_view text;  // a string's text is without its quotes
  uint64_t number = 0;

  bool is(char c) const { return kind == TokenKind::kPunctuation && punctuation == c; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next token. Throws PtxError on a malformed number, an open comment or string, or a stray byte.
  Token next();

 private:
  bool skip_space();
  Token number(Token token);
  [[noreturn]] void fail(std::string_view what) const;

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool joins_ = false;  // the last token was '.' or ':', so that ".2d" and "::128B" are names
};

}  // namespace sluice::ptx
