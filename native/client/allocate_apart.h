// Device memory whose addresses mean nothing else in this process; see address_claims.h.
#pragma once

#include <vector>

#include "client/scope.h"
#include "common/log.h"

namespace sluice::client {

// How often a driver is asked for other addresses before the call fails.
inline constexpr size_t kMaxAllocationTries = 32;

// `allocate(address*, bytes*)` asks the worker once, `give_back(address)` undoes it. What has addresses that
// are in use here is kept until others are found, so that the driver does not give the same ones again.
// CUDA_ERROR_OUT_OF_MEMORY when it finds none, or the error of `allocate`.
template <typename Allocate, typename GiveBack>
CUresult allocate_apart(Scope& scope, CUdeviceptr* address, size_t* bytes, const Allocate& allocate,
                        const GiveBack& give_back) {
  std::vector<CUdeviceptr> unusable;
  CUresult result = CUDA_SUCCESS;
  for (;;) {
    result = allocate(address, bytes);
    if (result != CUDA_SUCCESS || scope.session->addresses.claim(*address, *bytes, scope.channel)) break;
    unusable.push_back(*address);
    if (unusable.size() == kMaxAllocationTries) {
      SLUICE_WARN("The server gives only addresses that this program uses already: %zu of them.",
                  unusable.size());
      result = CUDA_ERROR_OUT_OF_MEMORY;
      break;
    }
  }
  for (const CUdeviceptr unused : unusable) give_back(unused);
  return result;
}

}  // namespace sluice::client
