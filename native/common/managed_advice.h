// What programs advise about managed memory and where they prefetch it to: kept to be asked for again
// (cuMemRangeGetAttribute). Nothing moves by it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "common/cuda_types.h"

namespace sluice {

class ManagedAdvice {
 public:
  // Location that is none: what attributes answer for ranges whose pages differ or that nothing was said of.
  static constexpr CUmemLocation kNowhere{CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID_ID};

  // cuMemAdvise. CUDA_ERROR_INVALID_VALUE for an advice or a location that is none. `devices`: how many the
  // program sees.
  CUresult advise(CUdeviceptr begin, size_t bytes, CUmem_advise advice, CUmemLocation location, int devices);
  void prefetched(CUdeviceptr begin, size_t bytes, CUmemLocation location);
  // The memory was freed.
  void forget(CUdeviceptr begin, size_t bytes);
  // cuMemRangeGetAttribute: writes `data_bytes` bytes. CUDA_ERROR_INVALID_VALUE for a size that does not fit
  // the attribute.
  CUresult attribute(void* data, size_t data_bytes, CUmem_range_attribute attribute, CUdeviceptr begin,
                     size_t bytes) const;

 private:
  struct Said {
    bool read_mostly = false;
    CUmemLocation preferred = kNowhere;
    CUmemLocation prefetched_to = kNowhere;
    uint64_t accessed_by = 0;  // a bit for each device
    bool accessed_by_host = false;
  };
  struct Piece {
    CUdeviceptr end;
    Said said;
  };

  // Cuts pieces so that one begins and one ends at each end of the range, and fills the gaps in between.
  template <typename Change>
  void change(CUdeviceptr begin, size_t bytes, const Change& change);
  void cut(CUdeviceptr at);

  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Piece> pieces_;
};

}  // namespace sluice
