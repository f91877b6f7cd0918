// What the software GPU's driver part asks of the PTX engine: compile a module,
// place its variables, run a kernel over a grid. The engine knows no streams,
// contexts or processes; the driver part knows no instruction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/cuda_result.h"

namespace sluice::ptx {

// A failure as CUDA reports it, with the sentence for the log.
// code is CUDA_SUCCESS when nothing failed.
struct Status {
  CUresult code = CUDA_SUCCESS;
  std::string message;  // names the instruction and the PTX line where there is one
  bool ok() const { return code == CUDA_SUCCESS; }
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// One kernel parameter: byte offset and size in the parameter buffer.
struct Param {
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<Param> params;
  uint32_t param_bytes = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;      // per thread
  uint32_t registers = 0;        // an estimate: live 32-bit registers, as CU_FUNC_ATTRIBUTE_NUM_REGS shows
  uint32_t max_threads = 1024;   // from .maxntid/.reqntid, else the device's limit
  Dim3 required_block{0, 0, 0};  // .reqntid, zeros where absent
  bool uses_grid_sync = false;
};

enum class Space : uint8_t { kGlobal, kConst };

// A module-scope variable. The driver part allocates it and hands the address to Program::bind.
struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  uint64_t bytes = 0;  // 0 for an unsized extern
  uint32_t align = 1;
  bool is_extern = false;
  bool is_weak = false;
};

struct CompileOptions {
  int compute_capability = 100;  // major * 10 + minor of the device; a higher .target is refused
  uint32_t max_threads_per_block = 1024;
};

// Memory of one device as the engine sees it. Device addresses are host virtual
// addresses of this process, so translation is a validity check.
class Memory {
 public:
  virtual ~Memory() = default;
  // A contiguous range [begin, end) of live device memory that contains address, or {0, 0}.
  // Called on a cache miss only; must be safe from several threads.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  virtual Range find(uint64_t address) const = 0;
  // Changes whenever a range goes away, so that engines drop cached ranges.
  virtual uint64_t epoch() const = 0;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;  // 1,1,1 without clusters
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::span<const std::byte> params;  // KernelInfo::param_bytes long
};

struct LaunchEnvironment {
  const Memory* memory = nullptr;
  int threads = 1;  // host threads the launch may use, the caller's included
  uint32_t sm_count = 1;
  uint64_t stack_bytes = 1024;                   // CU_LIMIT_STACK_SIZE, per thread
  const std::atomic<bool>* cancelled = nullptr;  // polled; a cancelled launch ends with LAUNCH_FAILED
  std::function<void(std::string_view)> print;   // device-side printf, whole lines or parts
};

// A compiled module bound to the addresses of its variables. Immutable; may be launched from several
// threads at once.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::span<const KernelInfo> kernels() const = 0;
  virtual std::span<const Variable> variables() const = 0;

  // Gives every variable its device address, in the order of variables(), resolves addresses in
  // initialisers and writes the initial values (zeros where there is none) through those addresses.
  // Call once, before the first launch.
  virtual Status bind(std::span<const uint64_t> addresses) = 0;

  // Runs the kernel to its end (blocking). Faults: ILLEGAL_ADDRESS, MISALIGNED_ADDRESS,
  // ILLEGAL_INSTRUCTION, LAUNCH_FAILED, ASSERT, INVALID_ADDRESS_SPACE, HARDWARE_STACK_ERROR,
  // LAUNCH_TIMEOUT; never an exception or a signal.
  virtual Status launch(size_t kernel, const LaunchConfig& config,
                        const LaunchEnvironment& environment) const = 0;
};

struct CompileResult {
  Status status;  // INVALID_PTX, UNSUPPORTED_PTX_VERSION, NO_BINARY_FOR_GPU, INVALID_SOURCE
  std::unique_ptr<Program> program;
};

// Parses and translates PTX text. Never throws; memory use is bounded by a multiple of the text's length.
CompileResult compile(std::string_view ptx, const CompileOptions& options);

}  // namespace sluice::ptx
