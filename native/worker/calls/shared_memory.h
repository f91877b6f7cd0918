// Managed and mapped memory: the worker's side of what native/client/coherence.h keeps the same.
//
// Beside each range lies a copy of what the client has. What the client's program wrote goes into both; asked
// for changes, the worker answers with the pages in which the memory differs from the copy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "generated/driver_table.h"
#include "wire/codec.h"

namespace sluice::worker {

class Session;

class SharedMemory {
 public:
  explicit SharedMemory(Session& session) : session_(session) {}

  // Memory that the driver gave, in the current context. `host`: where this process sees it, null for memory
  // of the device. False when there is no memory for the copy.
  bool add(CUdeviceptr address, uint64_t bytes, uint8_t* host, uint32_t context);
  void remove(CUdeviceptr address);
  // The context goes, and its ranges with it.
  void forget(uint32_t context);
  bool is_host(CUdeviceptr address) const;

  // What the program wrote. Nothing happens to memory that is shared no more: its context may have gone.
  CUresult write(CUdeviceptr address, const uint8_t* data, uint64_t bytes);
  // Appends what the client does not have of the range; nothing for memory that is shared no more.
  CUresult changes(CUdeviceptr address, uint64_t bytes, wire::Writer* answer);

 private:
  struct Range {
    uint64_t bytes = 0;
    uint8_t* host = nullptr;
    uint8_t* copy = nullptr;
    uint32_t context = 0;
    CUcontext handle = nullptr;
  };
  // Of a context: a stream that waits for no other, because others may be waiting for the client.
  struct Lane {
    CUstream stream = nullptr;
    std::vector<uint8_t> buffer;
  };

  Range* find(CUdeviceptr address, uint64_t bytes, uint64_t* offset);
  static void drop(const Range& range);
  // The lane of the range's context, which is current from here on until `leave`.
  Lane* enter(const Range& range);
  void leave();
  CUresult copy_to_device(const Range& range, CUdeviceptr address, const uint8_t* data, uint64_t bytes);
  CUresult copy_from_device(const Range& range, CUdeviceptr address, uint64_t bytes, const uint8_t** data);

  Session& session_;
  std::map<CUdeviceptr, Range> ranges_;
  std::map<CUcontext, Lane> lanes_;
};

}  // namespace sluice::worker
