// A device for tests of the PTX engine: memory that knows its ranges exactly, and one call to compile,
// bind and launch.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/ptx/engine.h"

namespace sluice::ptx::test {

// Device memory whose allocations end exactly where asked, so that one byte beyond is a fault.
class TestMemory final : public Memory {
 public:
  Range find(uint64_t address) const override;
  uint64_t epoch() const override { return 0; }
  uint64_t allocate(size_t bytes);

 private:
  struct Piece {
    std::unique_ptr<char[]> storage;
    Range range;
  };
  std::vector<Piece> pieces_;
};

// Kernel parameters as the driver part lays them out.
class Params {
 public:
  template <class T>
  Params& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(&bytes_[at], &value, sizeof(T));
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct Shape {
  Dim3 grid{1, 1, 1};
  Dim3 block{32, 1, 1};
  uint32_t shared_bytes = 0;
  int threads = 1;  // host threads
  bool cooperative = false;
};

class Device {
 public:
  // Compiles and binds; status() says how that went.
  explicit Device(std::string_view text);
  const Status& status() const { return status_; }
  const Program& program() const { return *program_; }

  uint64_t allocate(size_t bytes) { return memory_.allocate(bytes); }
  // A buffer with this content, and the buffer at an address.
  template <class T>
  uint64_t upload(const std::vector<T>& values) {
    const uint64_t address = allocate(values.size() * sizeof(T));
    std::memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address), count * sizeof(T));
    return values;
  }
  Status launch(std::string_view kernel, const Params& params, const Shape& shape = {});
  uint64_t variable(std::string_view name) const;
  const std::string& printed() const { return printed_; }

 private:
  TestMemory memory_;
  Status status_;
  std::unique_ptr<Program> program_;
  std::vector<uint64_t> addresses_;
  std::mutex print_lock_;
  std::string printed_;
};

std::string read_file(const std::string& path);
// Files of a folder with this ending, sorted.
std::vector<std::string> files_in(const std::string& folder, std::string_view ending);

}  // namespace sluice::ptx::test
