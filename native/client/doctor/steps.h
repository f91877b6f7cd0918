// A list of steps that are tried one after the other, and what came of each.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/json.h"
#include "generated/cuda_functions.h"

namespace sluice::doctor {

// Runs steps and prints each as a line of JSON: {"step","ok","detail","milliseconds"}.
class Steps {
 public:
  // `run` returns what it found out, or throws StepFailure. Whether it went well.
  bool step(std::string_view name, const std::function<std::string()>& run);
  // A measured value or a version: {"value","…"}.
  void value(std::string_view name, json::Value value);
  bool all_well() const { return failed_ == 0; }

 private:
  int failed_ = 0;
};

struct StepFailure {
  std::string sentence;
};

[[noreturn]] inline void fail(std::string sentence) { throw StepFailure{std::move(sentence)}; }

// Fails unless the call succeeded.
void check(CUresult result, std::string_view call);

// The driver library as a runtime library uses it: loaded by name, functions taken by cuGetProcAddress.
class Driver {
 public:
  // Loads libcuda.so.1; fails with the loader's words.
  void load();
  // The file that was loaded.
  std::string path() const;
  void* symbol(const char* name) const;
  // A function by its name without suffix, in the form of that CUDA version.
  template <typename Function>
  Function find(const char* name, int version = 12000) const {
    return reinterpret_cast<Function>(proc_address(name, version));
  }
  // A private table; null when it is refused.
  const void* const* table(std::string_view uuid) const;

 private:
  void* proc_address(const char* name, int version) const;
  void* library_ = nullptr;
};

}  // namespace sluice::doctor
