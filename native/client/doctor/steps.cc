#include "client/doctor/steps.h"

#include <dlfcn.h>
#include <link.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace sluice::doctor {
namespace {

void print(const json::Value& line) {
  std::puts(line.dump().c_str());
  std::fflush(stdout);  // what was found so far is told also when a later step crashes
}

}  // namespace

bool Steps::step(std::string_view name, const std::function<std::string()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  bool well = true;
  std::string detail;
  try {
    detail = run();
  } catch (const StepFailure& failure) {
    well = false;
    detail = failure.sentence;
    failed_++;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  print(json::Value::object(
      {{"step", name}, {"ok", well}, {"detail", detail}, {"microseconds", int64_t{microseconds}}}));
  return well;
}

void Steps::value(std::string_view name, json::Value value) {
  print(json::Value::object({{"value", name}, {"is", std::move(value)}}));
}

void check(CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return;
  fail(std::string(call) + " returned error " + std::to_string(static_cast<int>(result)) + ".");
}

void Driver::load() {
  library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) fail(std::string("libcuda.so.1 cannot be loaded: ") + ::dlerror() + ".");
}

std::string Driver::path() const {
  link_map* map = nullptr;
  return ::dlinfo(library_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

void* Driver::symbol(const char* name) const { return library_ ? ::dlsym(library_, name) : nullptr; }

void* Driver::proc_address(const char* name, int version) const {
  const auto get = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(symbol("cuGetProcAddress_v2"));
  if (get == nullptr) fail("cuGetProcAddress_v2 is not exported.");
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  const CUresult result = get(name, &found, version, 0, &status);
  if (result == CUDA_SUCCESS && found != nullptr) return found;
  fail(std::string("cuGetProcAddress does not resolve ") + name + " (error " +
       std::to_string(static_cast<int>(result)) + ").");
}

const void* const* Driver::table(std::string_view uuid) const {
  CUuuid id{};
  size_t at = 0;
  for (size_t i = 0; i + 1 < uuid.size() && at < sizeof id.bytes; i++) {
    if (uuid[i] == '-') continue;
    const std::string digits(uuid.substr(i++, 2));
    id.bytes[at++] = static_cast<char>(std::strtoul(digits.c_str(), nullptr, 16));
  }
  const void* found = nullptr;
  const CUresult result = find<decltype(&cuGetExportTable)>("cuGetExportTable")(&found, &id);
  return result == CUDA_SUCCESS ? static_cast<const void* const*>(found) : nullptr;
}

}  // namespace sluice::doctor
