// JSON values, a parser for text from untrusted peers, and a writer.
//
// The parser is strict (RFC 8259): no trailing commas, no comments, UTF-8 only, no
// duplicate keys. It throws nothing and its depth, size and count are capped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::json {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
// Members keep the order in which they were set or read.
using Object = std::vector<Member>;

class Value {
 public:
  Value() = default;  // null
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(int64_t{value}) {}
  Value(unsigned value) : data_(int64_t{value}) {}
  Value(long value) : data_(int64_t{value}) {}
  Value(long long value) : data_(int64_t{value}) {}
  // Above 2^63-1 the number becomes a double, as any JSON reader would make it.
  Value(unsigned long value) : Value(static_cast<unsigned long long>(value)) {}
  Value(unsigned long long value);
  Value(double value) : data_(value) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(Array value) : data_(std::move(value)) {}
  Value(Object value) : data_(std::move(value)) {}
  // Absent is null.
  template <typename T>
  Value(const std::optional<T>& value) {
    if (value) *this = Value(*value);
  }

  static Value array() { return Value(Array{}); }
  static Value object() { return Value(Object{}); }
  static Value object(std::initializer_list<Member> members) { return Value(Object(members)); }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(data_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }

  // The value when it is of that kind. Integers are exact; 1.0 is not an integer.
  std::optional<bool> as_bool() const;
  std::optional<int64_t> as_int() const;
  // An integer that is not negative.
  std::optional<uint64_t> as_uint() const;
  std::optional<double> as_number() const;
  // Null when it is no string. The pointer lives as long as the value does.
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }

  // The same with something to use when the kind is another.
  int64_t int_or(int64_t otherwise) const { return as_int().value_or(otherwise); }
  uint64_t uint_or(uint64_t otherwise) const { return as_uint().value_or(otherwise); }
  bool bool_or(bool otherwise) const { return as_bool().value_or(otherwise); }
  std::string string_or(std::string_view otherwise) const;

  // Elements and members; empty when the value is of another kind.
  const Array& items() const;
  const Object& members() const;
  // Number of elements or members.
  size_t size() const { return is_object() ? members().size() : items().size(); }
  // The member of that name; a null value when there is none or this is no object.
  const Value& operator[](std::string_view name) const;
  bool has(std::string_view name) const;

  // Sets a member (a null value becomes an object first).
  Value& set(std::string_view name, Value value);
  // Appends an element (a null value becomes an array first).
  Value& push(Value value);

  // JSON text on one line. Invalid UTF-8 in strings is written as U+FFFD; NaN and infinities as null.
  std::string dump() const;

  friend bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data_;
};

// Caps on what is accepted. The defaults suit one control message.
struct ParseLimits {
  size_t max_bytes = 8u << 20;   // a full set of grants of a large host is well below
  unsigned max_depth = 32;       // our deepest message has 6 levels; recursion must stay small
  size_t max_values = 1u << 18;  // bounds memory: each value costs some 40 bytes
  size_t max_members = 4096;     // members per object; duplicate keys are searched for
};

// The value, or nothing when the text is not exactly one JSON value within the limits;
// *error, if given, then says what is wrong and at which byte.
std::optional<Value> parse(std::string_view text, const ParseLimits& limits = {},
                           std::string* error = nullptr);

}  // namespace sluice::json
