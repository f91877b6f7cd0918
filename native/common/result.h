// A value, or the sentence that tells a person why there is none.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace sluice {

// The explanation of a failure: a whole sentence that a user can act on.
struct Failure {
  std::string message;
};

template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Failure failure) : message_(std::move(failure.message)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  // Empty when there is a value.
  const std::string& error() const { return message_; }

 private:
  std::optional<T> value_;
  std::string message_;
};

}  // namespace sluice
