// The environment, read in one place. Native code calls getenv nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.h"

namespace sluice::env {

// The variable's value; nothing when it is unset or empty.
std::optional<std::string> text(const char* name);

// The value as it is, which may be empty; nothing when the variable is unset.
std::optional<std::string> raw(const char* name);

// A whole number in [min, max]; nothing when unset; a sentence when it is anything else.
Result<std::optional<int64_t>> integer(const char* name, int64_t min, int64_t max);

// on/off, true/false, yes/no, 1/0; `otherwise` when unset or anything else.
bool flag(const char* name, bool otherwise);

}  // namespace sluice::env
