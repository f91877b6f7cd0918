// Types of virtual memory management, as NVIDIA's "CUDA Driver API" reference manual (CUDA 13.0) gives them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using CUmemGenericAllocationHandle = unsigned long long;

enum CUmemAllocationGranularity_flags : int {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
};

enum CUmemAllocationCompType : int {
  CU_MEM_ALLOCATION_COMP_NONE = 0,
  CU_MEM_ALLOCATION_COMP_GENERIC = 1,
};

constexpr unsigned short CU_MEM_CREATE_USAGE_TILE_POOL = 0x1;
constexpr unsigned short CU_MEM_CREATE_USAGE_HW_DECOMPRESS = 0x2;

struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

}  // extern "C"

static_assert(sizeof(CUmemAllocationProp) == 32);
