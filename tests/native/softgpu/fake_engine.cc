// An engine for tests of the driver: its "PTX" is a head that looks like PTX and lines
//   .kernel <name> <action> params=<bytes,bytes,…> [max=<threads>] [shared=<bytes>]
//   .variable <name> <bytes>
// Actions: none; store(address, value, count) writes u32; add(address, value); multiply(address, value);
// sleep(milliseconds).
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include "softgpu/image.h"
#include "softgpu/ptx/engine.h"

namespace sluice::ptx {
namespace {

class FakeProgram : public Program {
 public:
  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::span<const Variable> variables() const override { return variables_; }

  Status bind(std::span<const uint64_t> addresses) override {
    for (size_t i = 0; i < addresses.size(); ++i) {
      std::memset(reinterpret_cast<void*>(addresses[i]), 0x5a, variables_[i].bytes);
    }
    return {};
  }

  Status launch(size_t kernel, const LaunchConfig& config,
                const LaunchEnvironment& environment) const override {
    const std::string& action = actions_[kernel];
    uint32_t words[4] = {};
    std::memcpy(words, config.params.data(), std::min(sizeof(words), config.params.size()));
    uint64_t address;
    std::memcpy(&address, words, sizeof(address));
    if (action == "sleep") {
      std::this_thread::sleep_for(std::chrono::milliseconds(words[0]));
    } else if (action != "none") {
      const uint32_t count = action == "store" ? words[3] : 1;
      const Memory::Range range = environment.memory->find(address);
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t at = address + uint64_t{4} * i;
        if (at < range.begin || at + 4 > range.end) return {CUDA_ERROR_ILLEGAL_ADDRESS, "out of bounds"};
        auto* word = reinterpret_cast<uint32_t*>(at);
        if (action == "store") *word = words[2];
        if (action == "add") *word += words[2];
        if (action == "multiply") *word *= words[2];
      }
    }
    return {};
  }

  Status parse(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string first, name, word;
      words >> first >> name;
      if (first == ".variable") {
        Variable variable;
        variable.name = name;
        words >> variable.bytes;
        variables_.push_back(variable);
      } else if (first == ".kernel") {
        KernelInfo info;
        info.name = name;
        info.registers = 16;
        words >> word;
        actions_.push_back(word);
        while (words >> word) {
          const size_t equals = word.find('=');
          std::istringstream values(word.substr(equals + 1));
          const std::string key = word.substr(0, equals);
          if (key == "max") values >> info.max_threads;
          if (key == "shared") values >> info.static_shared_bytes;
          for (std::string value; key == "params" && std::getline(values, value, ',');) {
            const auto size = static_cast<uint32_t>(std::stoul(value));
            info.params.push_back({(info.param_bytes + size - 1) / size * size, size});
            info.param_bytes = info.params.back().offset + size;
          }
        }
        kernels_.push_back(info);
      } else if (first == ".invalid") {
        return {CUDA_ERROR_INVALID_PTX, "line 4: .invalid is not an instruction"};
      }
    }
    return {};
  }

 private:
  std::vector<KernelInfo> kernels_;
  std::vector<std::string> actions_;
  std::vector<Variable> variables_;
};

}  // namespace

CompileResult compile(std::string_view ptx, const CompileOptions& options) {
  CompileResult result;
  const int target = softgpu::ptx_target(std::string(ptx));
  if (target > options.compute_capability) {
    result.status = {CUDA_ERROR_NO_BINARY_FOR_GPU, "the target is newer than the device"};
    return result;
  }
  auto program = std::make_unique<FakeProgram>();
  result.status = program->parse(ptx);
  if (result.status.ok()) result.program = std::move(program);
  return result;
}

}  // namespace sluice::ptx
