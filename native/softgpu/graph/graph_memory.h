// Memory of allocation nodes. Its address is known when the node is made and stays the same in all launches;
// it is there from then until nothing refers to it any more, and in use from a launch that allocates it to
// whatever frees it.
#pragma once

#include <cstdint>
#include <memory>

#include "common/cuda_types.h"

namespace sluice::softgpu {

class Context;

class GraphMemory {
 public:
  // Null with an error in *result when there is not so much.
  static std::shared_ptr<GraphMemory> create(Context& context, uint64_t bytes, CUresult* result);
  // The memory that begins at the address; null when no graph has it.
  static std::shared_ptr<GraphMemory> find(CUdeviceptr address);
  ~GraphMemory();

  CUdeviceptr address() const { return address_; }
  // False when it is in use already.
  bool take();
  // False when it was not in use.
  bool give_back();

 private:
  GraphMemory(int device, CUdeviceptr address, uint64_t bytes)
      : device_(device), address_(address), bytes_(bytes) {}

  const int device_;
  const CUdeviceptr address_;
  const uint64_t bytes_;
  bool in_use_ = false;
};

// cuDeviceGetGraphMemAttribute and its twin; values in bytes.
CUresult get_graph_memory(int device, CUgraphMem_attribute attribute, uint64_t* value);
// Only the high-water marks can be set, and only to zero.
CUresult reset_graph_memory(int device, CUgraphMem_attribute attribute, uint64_t value);

}  // namespace sluice::softgpu
