// One running launch: what all its blocks share, what each host thread keeps, and a block.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "softgpu/ptx/engine.h"
#include "softgpu/ptx/exec/warp.h"

namespace sluice::ptx {

// Generic addresses of the spaces that are not device memory. Device memory starts far above.
constexpr uint64_t kSharedWindow = 0x0000'0001'0000'0000;
constexpr uint64_t kLocalWindow = 0x0000'0002'0000'0000;
constexpr uint64_t kParamWindow = 0x0000'0003'0000'0000;
constexpr uint64_t kFunctionWindow = 0x0000'0004'0000'0000;  // + 16 * index: addresses of functions
constexpr uint64_t kWindowBytes = 0x0000'0001'0000'0000;

constexpr uint32_t kBarriers = 16;
// Backward branches before a warp must let others run. Large enough that switching costs nothing,
// small enough that a cancelled launch ends at once.
constexpr int32_t kTurn = 4096;

class ProgramImpl;

// The first fault of a launch; later ones are dropped.
struct Fault {
  CUresult code = CUDA_SUCCESS;
  std::string message;
};

struct Launch {
  const ProgramImpl* program = nullptr;
  const Code* kernel = nullptr;
  const LaunchEnvironment* environment = nullptr;
  const char* consts = nullptr;
  Dim3 grid, block, cluster;
  uint32_t block_threads = 1;
  uint32_t warps = 1;
  uint64_t blocks = 1;
  uint32_t static_shared = 0;   // the kernel's own variables
  uint32_t dynamic_offset = 0;  // where extern shared memory starts
  uint32_t dynamic_shared = 0;
  uint32_t shared_bytes = 0;  // all of it
  uint32_t local_bytes = 0;   // of one thread: variables and stack
  bool cooperative = false;
  const char* params = nullptr;
  uint32_t param_bytes = 0;
  uint64_t grid_id = 0;
  std::atomic<uint64_t> next_block{0};
  std::atomic<uint64_t> done_blocks{0};
  std::atomic<bool> stop{false};
  std::mutex fault_lock;
  Fault fault;
  alignas(64) uint32_t grid_workspace[16] = {};  // what %envreg1/2 point to in a cooperative launch

  void fail(CUresult code, std::string message);
  bool cancelled() const {
    return environment->cancelled != nullptr && environment->cancelled->load(std::memory_order_relaxed);
  }
};

struct CachedRange {
  uint64_t begin = 1;
  uint64_t end = 0;
};
constexpr uint32_t kCachedRanges = 64;

// What one host thread keeps while it runs blocks of a launch.
struct Thread {
  Launch* launch = nullptr;
  const Memory* memory = nullptr;
  uint64_t epoch = 0;
  uint8_t float_mode = kNearest;  // what MXCSR is set to
  uint32_t sm = 0;
  CachedRange ranges[kCachedRanges];
};

struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // threads; 0 while nobody waits
  uint32_t count_true = 0;
  uint32_t lanes_in_reduction = 0;
};

struct Block {
  Launch* launch = nullptr;
  Thread* thread = nullptr;
  Dim3 index;
  uint64_t linear = 0;
  char* shared = nullptr;
  uint32_t live_threads = 0;
  uint32_t live_warps = 0;
  Barrier barriers[kBarriers];
  std::vector<std::unique_ptr<Warp>> warps;  // launch->warps of them are in use
  std::unique_ptr<char[]> registers;
  size_t register_bytes = 0;
  std::unique_ptr<char[]> shared_storage;
  size_t shared_capacity = 0;
  std::unique_ptr<char[]> local_storage;
  size_t local_capacity = 0;

  // Makes the block ready to run block number `linear` of the launch.
  void start(Launch& to_run, Thread& on, uint64_t number);
  // Runs until every warp is done (true) or, with `once`, until each had a turn.
  bool run(bool once);
  char* local_memory(Warp& warp);
};

// exec/run_launch.cc: runs a prepared launch on this thread and helpers; returns its fault.
Fault run_launch(Launch& launch);

// exec/barrier.cc
// `count` threads take part (0: the whole block). Goes on at `resume`, where Warp::barrier_true and
// barrier_lanes give the outcome of a reduction over `true_lanes`.
const Inst* barrier(Warp& warp, const Inst* in, const Inst* resume, uint32_t id, uint32_t count, bool waits,
                    uint32_t true_lanes);
// Threads have exited: barriers of the whole block may be complete now.
void check_barriers(Block& block);

// exec/fault.cc: record a fault of `in` and leave the interpreter.
const Inst* fault(Warp& warp, const Inst* in, CUresult code, const std::string& what);
const Inst* memory_fault(Warp& warp, const Inst* in, CUresult code, uint64_t address, uint32_t bytes,
                         const char* space, bool store);
void switch_float_mode(Thread& thread, uint8_t mode);

}  // namespace sluice::ptx
