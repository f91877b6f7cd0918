#include "common/env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace sluice::env {

std::optional<std::string> raw(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::string> text(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return std::string(value);
}

Result<std::optional<int64_t>> integer(const char* name, int64_t min, int64_t max) {
  const auto value = text(name);
  if (!value) return std::optional<int64_t>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc() || end != value->data() + value->size() || number < min || number > max) {
    return Failure{std::string(name) + " is \"" + *value + "\"; it must be a whole number from " +
                   std::to_string(min) + " to " + std::to_string(max) + "."};
  }
  return std::optional(number);
}

bool flag(const char* name, bool otherwise) {
  const auto value = text(name);
  if (!value) return otherwise;
  for (const std::string_view yes : {"1", "on", "true", "yes"}) {
    if (*value == yes) return true;
  }
  for (const std::string_view no : {"0", "off", "false", "no"}) {
    if (*value == no) return false;
  }
  return otherwise;
}

}  // namespace sluice::env
