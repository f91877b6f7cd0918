// What several processes that use the same software GPUs know of each other: who uses which device, how much
// of its memory, and how long it was busy. Lives in a memory-mapped file in the state folder. A process that
// dies in any way, kill -9 included, is recognised by its pid and start time and its entry is taken back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::softgpu {

struct ProcessUse {
  int pid = 0;
  uint64_t used_bytes = 0;
  bool has_context = false;
};

class SharedState {
 public:
  // Opens or creates <directory>/state-1. Null and a sentence in *error when that cannot be done.
  static std::unique_ptr<SharedState> open(const std::string& directory, std::string* error);
  ~SharedState();
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;

  // Adds to this process's use of the device, unless all live processes together would then use more than
  // total_bytes: false, and nothing is changed.
  bool reserve(int device, uint64_t bytes, uint64_t total_bytes);
  void release(int device, uint64_t bytes);

  // A context was made (+1) or destroyed (-1) on the device by this process.
  void count_context(int device, int change);

  // This process runs work on the device between these calls; they nest over threads.
  void busy_begin(int device);
  void busy_end(int device);

  // Sum over live processes.
  uint64_t used_bytes(int device);
  std::vector<ProcessUse> processes(int device);
  // Share of the last second in which work ran, 0…1; work of several processes adds up to at most 1.
  double utilization(int device);

 private:
  struct Layout;
  SharedState(Layout* layout) : layout_(layout) {}
  int own_slot(int device);
  void lock(int device);
  void unlock(int device);

  Layout* layout_;
};

}  // namespace sluice::softgpu
