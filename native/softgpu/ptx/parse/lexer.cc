#include "softgpu/ptx/parse/lexer.h"

#include <bit>
#include <charconv>
#include <string>

#include "softgpu/ptx/parse/ast.h"

namespace sluice::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '%' || c == '$';
}
bool is_word(char c) { return is_word_start(c) || is_digit(c); }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Lexer::fail(std::string_view what) const {
  throw PtxError{CUDA_ERROR_INVALID_PTX, line_, std::string(what)};
}

bool Lexer::skip_space() {
  const size_t start = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail("a comment is not closed");
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
    } else {
      break;
    }
  }
  return at_ != start;
}

Token Lexer::number(Token token) {
  const size_t start = at_;
  const auto peek = [&](size_t k) { return at_ + k < text_.size() ? text_[at_ + k] : '\0'; };
  if (peek(0) == '0' && (peek(1) == 'f' || peek(1) == 'F' || peek(1) == 'd' || peek(1) == 'D')) {
    const bool is_f32 = peek(1) == 'f' || peek(1) == 'F';
    const size_t digits = is_f32 ? 8 : 16;
    at_ += 2;
    uint64_t bits = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const int v = at_ < text_.size() ? hex_value(text_[at_]) : -1;
      if (v < 0) fail("a hexadecimal floating-point constant has too few digits");
      bits = bits << 4 | static_cast<uint64_t>(v);
    }
    token.literal = is_f32 ? 1 : 2;
    token.number = bits;
  } else {
    int base = 10;
    if (peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      base = 16;
      at_ += 2;
    } else if (peek(0) == '0' && (peek(1) == 'b' || peek(1) == 'B')) {
      base = 2;
      at_ += 2;
    }
    size_t end = at_;
    while (end < text_.size() && (base == 16 ? hex_value(text_[end]) >= 0 : is_digit(text_[end]))) ++end;
    const bool is_real =
        base == 10 && end < text_.size() &&
        ((text_[end] == '.' && end + 1 < text_.size() && is_digit(text_[end + 1])) || text_[end] == 'e' ||
         text_[end] == 'E' || (text_[end] == '.' && (end + 1 == text_.size() || !is_word(text_[end + 1]))));
    if (is_real) {
      double value = 0;
      const auto [ptr, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error == std::errc::invalid_argument) fail("a floating-point constant is malformed");
      at_ = static_cast<size_t>(ptr - text_.data());
      token.literal = 2;
      token.number = std::bit_cast<uint64_t>(value);
    } else {
      if (base == 10 && end - at_ > 1 && text_[at_] == '0') base = 8;
      uint64_t value = 0;
      const auto [ptr, error] = std::from_chars(text_.data() + at_, text_.data() + end, value, base);
      if (error != std::errc() || ptr != text_.data() + end) fail("an integer constant is malformed");
      at_ = end;
      if (at_ < text_.size() && text_[at_] == 'U') ++at_;
      token.number = value;
    }
  }
  if (at_ < text_.size() && is_word(text_[at_])) fail("a constant runs into a name");
  token.kind = TokenKind::kNumber;
  token.text = text_.substr(start, at_ - start);
  return token;
}

Token Lexer::next() {
  Token token;
  token.spaced = skip_space();
  token.line = line_;
  if (at_ >= text_.size() || text_[at_] == '\0') return token;
  const char c = text_[at_];
  const bool in_modifier = joins_ && !token.spaced;
  joins_ = false;
  if (is_digit(c) && !in_modifier) return number(token);
  if (is_word_start(c) || is_digit(c)) {
    const size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    token.kind = TokenKind::kWord;
    token.text = text_.substr(start, at_ - start);
    return token;
  }
  if (c == '"') {
    const size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) fail("a string is not closed");
    token.kind = TokenKind::kString;
    token.text = text_.substr(at_ + 1, end - at_ - 1);
    for (const char inside : token.text) line_ += inside == '\n';
    at_ = end + 1;
    return token;
  }
  constexpr std::string_view kPunctuation = ".,;:()[]{}<>@!=+-*/%|&^~?#";
  if (kPunctuation.find(c) == std::string_view::npos) fail("a byte does not belong in PTX");
  token.kind = TokenKind::kPunctuation;
  token.punctuation = c;
  joins_ = c == '.' || c == ':';
  token.text = text_.substr(at_, 1);
  ++at_;
  return token;
}

}  // namespace sluice::ptx
