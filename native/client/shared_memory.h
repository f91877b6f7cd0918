// Putting managed and mapped memory where both sides have it: the worker gives the addresses, and the client
// has pages of its own at the same ones.
#pragma once

#include "client/coherence.h"
#include "client/scope.h"

namespace sluice::client {

// cuMemAllocManaged.
CUresult allocate_managed(Scope& scope, size_t bytes, unsigned flags, CUdeviceptr* address);
// The managed range was freed: its addresses hold nothing here any more.
void forget_managed(const DeviceRange& range);

// Host memory of the client that the GPU sees at the same address.
CUresult allocate_mapped(Scope& scope, size_t bytes, void** memory);
// Makes host memory of the program visible to the GPU at another address, unless it is already.
CUresult map_for_device(Scope& scope, const HostRange& range, SharedRange* shared);
// The GPU does not see the memory any more. True when its pages were made by allocate_mapped, and are gone.
bool unmap_for_device(const HostRange& range);

}  // namespace sluice::client
