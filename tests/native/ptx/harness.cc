#include "harness.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::ptx::test {
namespace {

constexpr size_t kAlign = 256;

}  // namespace

Memory::Range TestMemory::find(uint64_t address) const {
  for (const Piece& piece : pieces_) {
    if (address >= piece.range.begin && address < piece.range.end) return piece.range;
  }
  return {};
}

uint64_t TestMemory::allocate(size_t bytes) {
  Piece piece;
  piece.storage = std::make_unique<char[]>(bytes + 2 * kAlign);
  const auto begin = (reinterpret_cast<uint64_t>(piece.storage.get()) + kAlign - 1) / kAlign * kAlign;
  piece.range = {begin, begin + bytes};
  pieces_.push_back(std::move(piece));
  return begin;
}

Device::Device(std::string_view text) {
  CompileResult result = compile(text, {});
  status_ = std::move(result.status);
  program_ = std::move(result.program);
  if (!status_.ok()) return;
  for (const Variable& variable : program_->variables()) {
    addresses_.push_back(allocate(std::max<size_t>(variable.bytes, 1)));
  }
  status_ = program_->bind(addresses_);
}

Status Device::launch(std::string_view kernel, const Params& params, const Shape& shape) {
  const auto kernels = program_->kernels();
  const auto at =
      std::find_if(kernels.begin(), kernels.end(), [&](const KernelInfo& k) { return k.name == kernel; });
  if (at == kernels.end()) return {CUDA_ERROR_NOT_FOUND, "there is no kernel " + std::string(kernel)};
  LaunchConfig config;
  config.grid = shape.grid;
  config.block = shape.block;
  config.dynamic_shared_bytes = shape.shared_bytes;
  config.cooperative = shape.cooperative;
  std::vector<std::byte> bytes(params.bytes().begin(), params.bytes().end());
  bytes.resize(std::max<size_t>(bytes.size(), at->param_bytes));
  config.params = bytes;
  LaunchEnvironment environment;
  environment.memory = &memory_;
  environment.threads = shape.threads;
  environment.print = [this](std::string_view text) {
    const std::lock_guard lock(print_lock_);
    printed_ += text;
  };
  return program_->launch(static_cast<size_t>(at - kernels.begin()), config, environment);
}

uint64_t Device::variable(std::string_view name) const {
  const auto variables = program_->variables();
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return addresses_[i];
  }
  return 0;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> files_in(const std::string& folder, std::string_view ending) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ending) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace sluice::ptx::test
