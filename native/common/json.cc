#include "common/json.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace sluice::json {

namespace {

const Value kNull;
const Array kNoItems;
const Object kNoMembers;

// The length of the valid UTF-8 sequence at the start of `text`, 0 when there is none.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                        : (first & 0xF0) == 0xE0         ? 3
                        : first >= 0xF0 && first <= 0xF4 ? 4
                                                         : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = at(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

void write_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c < 0x20 || c == 0x7F) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      const size_t length = utf8_length(text);
      out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
      text.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    text.remove_prefix(1);
  }
  out += '"';
}

void write_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  out += text;
  // Keeps the kind: 2.0 must not read back as an integer.
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void write_value(std::string& out, const Value& value) {
  if (value.is_null()) {
    out += "null";
  } else if (const auto boolean = value.as_bool()) {
    out += *boolean ? "true" : "false";
  } else if (const auto integer = value.as_int()) {
    out += std::to_string(*integer);
  } else if (const auto number = value.as_number()) {
    write_double(out, *number);
  } else if (const auto* text = value.as_string()) {
    write_string(out, *text);
  } else if (value.is_array()) {
    char separator = '[';
    for (const Value& item : value.items()) {
      out += separator;
      write_value(out, item);
      separator = ',';
    }
    out += value.items().empty() ? "[]" : "]";
  } else {
    char separator = '{';
    for (const auto& [name, member] : value.members()) {
      out += separator;
      write_string(out, name);
      out += ':';
      write_value(out, member);
      separator = ',';
    }
    out += value.members().empty() ? "{}" : "}";
  }
}

// Recursive descent; the first error sticks and every later step fails at once.
class Parser {
 public:
  Parser(std::string_view text, const ParseLimits& limits) : text_(text), limits_(limits) {}

  std::optional<Value> document(std::string* error) {
    Value value;
    if (text_.size() > limits_.max_bytes) fail("the text is too long");
    skip_space();
    if (!failed_ && parse_value(value, 0)) {
      skip_space();
      if (at_ != text_.size()) fail("something follows the value");
    }
    if (!failed_) return value;
    if (error) *error = std::string(error_) + " at byte " + std::to_string(at_);
    return std::nullopt;
  }

 private:
  bool fail(const char* why) {
    if (!failed_) error_ = why;
    failed_ = true;
    return false;
  }

  bool next_is(char wanted) const { return at_ < text_.size() && text_[at_] == wanted; }
  bool take(char wanted) {
    if (!next_is(wanted)) return false;
    at_++;
    return true;
  }
  bool next_is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      at_++;
  }

  bool parse_value(Value& out, unsigned depth) {
    if (++values_ > limits_.max_values) return fail("too many values");
    if (at_ >= text_.size()) return fail("the text ends too early");
    switch (text_[at_]) {
      case '{':
        return depth < limits_.max_depth ? parse_object(out, depth) : fail("nested too deeply");
      case '[':
        return depth < limits_.max_depth ? parse_array(out, depth) : fail("nested too deeply");
      case '"': {
        std::string text;
        if (!parse_string(text)) return false;
        out = std::move(text);
        return true;
      }
      case 't':
        return parse_word("true", Value(true), out);
      case 'f':
        return parse_word("false", Value(false), out);
      case 'n':
        return parse_word("null", Value(), out);
      default:
        return parse_number(out);
    }
  }

  bool parse_word(std::string_view word, Value value, Value& out) {
    if (text_.substr(at_, word.size()) != word) return fail("an unknown word");
    at_ += word.size();
    out = std::move(value);
    return true;
  }

  bool parse_number(Value& out) {
    const size_t start = at_;
    take('-');
    if (!next_is_digit()) return fail("no value begins like this");
    if (take('0')) {
      if (next_is_digit()) return fail("a number with a leading zero");
    } else {
      while (next_is_digit()) at_++;
    }
    bool integer = true;
    if (take('.')) {
      integer = false;
      if (!next_is_digit()) return fail("a number without digits after the point");
      while (next_is_digit()) at_++;
    }
    if (next_is('e') || next_is('E')) {
      integer = false;
      at_++;
      if (!take('+')) take('-');
      if (!next_is_digit()) return fail("a number without digits in the exponent");
      while (next_is_digit()) at_++;
    }
    const char* first = text_.data() + start;
    const char* last = text_.data() + at_;
    int64_t whole = 0;
    if (integer && std::from_chars(first, last, whole).ec == std::errc()) {
      out = Value(static_cast<long long>(whole));
      return true;
    }
    double number = 0;
    if (std::from_chars(first, last, number).ec != std::errc()) return fail("a number out of range");
    out = Value(number);
    return true;
  }

  bool parse_hex4(unsigned& out) {
    out = 0;
    for (int i = 0; i < 4; i++, at_++) {
      if (at_ >= text_.size()) return fail("the text ends too early");
      const char c = text_[at_];
      const unsigned digit = c >= '0' && c <= '9'   ? unsigned(c - '0')
                             : c >= 'a' && c <= 'f' ? unsigned(c - 'a' + 10)
                             : c >= 'A' && c <= 'F' ? unsigned(c - 'A' + 10)
                                                    : 16;
      if (digit == 16) return fail("a bad \\u escape");
      out = out << 4 | digit;
    }
    return true;
  }

  bool parse_unicode_escape(std::string& out) {
    unsigned code = 0;
    if (!parse_hex4(code)) return false;
    if (code >= 0xDC00 && code <= 0xDFFF) return fail("half of a surrogate pair");
    if (code >= 0xD800 && code <= 0xDBFF) {
      unsigned low = 0;
      if (!take('\\') || !take('u')) return fail("half of a surrogate pair");
      if (!parse_hex4(low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0 | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      out += static_cast<char>(0xE0 | (code >> 12));
      tail(6), tail(0);
    } else {
      out += static_cast<char>(0xF0 | (code >> 18));
      tail(12), tail(6), tail(0);
    }
    return true;
  }

  bool parse_escape(std::string& out) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return fail("the text ends too early");
    const char name = text_[at_++];
    if (name == 'u') return parse_unicode_escape(out);
    const size_t index = kNames.find(name);
    if (index == std::string_view::npos) return fail("an unknown escape");
    out += kValues[index];
    return true;
  }

  bool parse_string(std::string& out) {
    at_++;  // the quote
    while (at_ < text_.size()) {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        at_++;
        return true;
      }
      if (c == '\\') {
        at_++;
        if (!parse_escape(out)) return false;
        continue;
      }
      if (c < 0x20) return fail("a control character in a string");
      const size_t length = utf8_length(text_.substr(at_));
      if (length == 0) return fail("text that is not UTF-8");
      out += text_.substr(at_, length);
      at_ += length;
    }
    return fail("a string without an end");
  }

  bool parse_array(Value& out, unsigned depth) {
    at_++;
    Array items;
    skip_space();
    if (!take(']')) {
      do {
        skip_space();
        if (!parse_value(items.emplace_back(), depth + 1)) return false;
        skip_space();
      } while (take(','));
      if (!take(']')) return fail("an array without an end");
    }
    out = std::move(items);
    return true;
  }

  bool parse_object(Value& out, unsigned depth) {
    at_++;
    Object members;
    skip_space();
    if (!take('}')) {
      do {
        skip_space();
        if (!next_is('"')) return fail("a member without a name");
        if (members.size() >= limits_.max_members) return fail("too many members");
        std::string name;
        if (!parse_string(name)) return false;
        for (const Member& other : members) {
          if (other.first == name) return fail("the same name twice in one object");
        }
        skip_space();
        if (!take(':')) return fail("a member without a value");
        skip_space();
        members.emplace_back(std::move(name), Value());
        if (!parse_value(members.back().second, depth + 1)) return false;
        skip_space();
      } while (take(','));
      if (!take('}')) return fail("an object without an end");
    }
    out = std::move(members);
    return true;
  }

  std::string_view text_;
  const ParseLimits& limits_;
  size_t at_ = 0;
  size_t values_ = 0;
  bool failed_ = false;
  const char* error_ = "";
};

}  // namespace

Value::Value(unsigned long long value) {
  if (value <= static_cast<unsigned long long>(std::numeric_limits<int64_t>::max())) {
    data_ = static_cast<int64_t>(value);
  } else {
    data_ = static_cast<double>(value);
  }
}

std::optional<bool> Value::as_bool() const {
  const bool* value = std::get_if<bool>(&data_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<int64_t> Value::as_int() const {
  const int64_t* value = std::get_if<int64_t>(&data_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<uint64_t> Value::as_uint() const {
  const auto value = as_int();
  return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (const auto integer = as_int()) return static_cast<double>(*integer);
  const double* value = std::get_if<double>(&data_);
  return value ? std::optional(*value) : std::nullopt;
}

std::string Value::string_or(std::string_view otherwise) const {
  const std::string* text = as_string();
  return text ? *text : std::string(otherwise);
}

const Array& Value::items() const {
  const Array* items = std::get_if<Array>(&data_);
  return items ? *items : kNoItems;
}

const Object& Value::members() const {
  const Object* members = std::get_if<Object>(&data_);
  return members ? *members : kNoMembers;
}

const Value& Value::operator[](std::string_view name) const {
  for (const Member& member : members()) {
    if (member.first == name) return member.second;
  }
  return kNull;
}

bool Value::has(std::string_view name) const {
  for (const Member& member : members()) {
    if (member.first == name) return true;
  }
  return false;
}

Value& Value::set(std::string_view name, Value value) {
  if (!is_object()) data_ = Object{};
  Object& members = std::get<Object>(data_);
  for (Member& member : members) {
    if (member.first == name) {
      member.second = std::move(value);
      return *this;
    }
  }
  members.emplace_back(std::string(name), std::move(value));
  return *this;
}

Value& Value::push(Value value) {
  if (!is_array()) data_ = Array{};
  std::get<Array>(data_).push_back(std::move(value));
  return *this;
}

std::string Value::dump() const {
  std::string out;
  write_value(out, *this);
  return out;
}

std::optional<Value> parse(std::string_view text, const ParseLimits& limits, std::string* error) {
  return Parser(text, limits).document(error);
}

}  // namespace sluice::json
