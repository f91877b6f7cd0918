// Types of execution affinity, atomics between devices, batched decompression, launches over several devices
// and execution resources, as NVIDIA's "CUDA Driver API" reference manual (CUDA 13.0) gives them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda_types.h"

extern "C" {

struct CUexecAffinityParam {
  CUexecAffinityType type;
  union {
    struct {
      unsigned val;
    } smCount;
  } param;
};

struct CUctxCreateParams {
  CUexecAffinityParam* execAffinityParams;
  int numExecAffinityParams;
  void* cigParams;  // sharing with a graphics interface
};

enum CUatomicOperation : int {
  CU_ATOMIC_OPERATION_INTEGER_ADD = 0,
  CU_ATOMIC_OPERATION_INTEGER_MIN = 1,
  CU_ATOMIC_OPERATION_INTEGER_MAX = 2,
  CU_ATOMIC_OPERATION_INTEGER_INCREMENT = 3,
  CU_ATOMIC_OPERATION_INTEGER_DECREMENT = 4,
  CU_ATOMIC_OPERATION_AND = 5,
  CU_ATOMIC_OPERATION_OR = 6,
  CU_ATOMIC_OPERATION_XOR = 7,
  CU_ATOMIC_OPERATION_EXCHANGE = 8,
  CU_ATOMIC_OPERATION_CAS = 9,
  CU_ATOMIC_OPERATION_FLOAT_ADD = 10,
  CU_ATOMIC_OPERATION_FLOAT_MIN = 11,
  CU_ATOMIC_OPERATION_FLOAT_MAX = 12,
  CU_ATOMIC_OPERATION_MAX = 13,
};

enum CUmemDecompressAlgorithm : int {
  CU_MEM_DECOMPRESS_UNSUPPORTED = 0,
  CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE = 1,
  CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY = 2,
  CU_MEM_DECOMPRESS_ALGORITHM_LZ4 = 4,
};

struct CUmemDecompressParams {
  size_t srcNumBytes;
  size_t dstNumBytes;
  uint32_t* dstActBytes;
  const void* src;
  void* dst;
  CUmemDecompressAlgorithm algo;
  unsigned char padding[20];
};

struct CUDA_LAUNCH_PARAMS {
  CUfunction function;
  unsigned gridDimX;
  unsigned gridDimY;
  unsigned gridDimZ;
  unsigned blockDimX;
  unsigned blockDimY;
  unsigned blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
};

constexpr int CU_PARAM_TR_DEFAULT = -1;

using CUdevResourceDesc = struct CUdevResourceDesc_st*;

enum CUgreenCtxCreate_flags : int {
  CU_GREEN_CTX_NONE = 0,
  CU_GREEN_CTX_DEFAULT_STREAM = 1,
};

enum CUdevSmResourceSplitByCount_flags : int {
  CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1,
  CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE = 2,
};

enum CUdevResourceType : int {
  CU_DEV_RESOURCE_TYPE_INVALID = 0,
  CU_DEV_RESOURCE_TYPE_SM = 1,
  CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG = 1000,
  CU_DEV_RESOURCE_TYPE_WORKQUEUE = 10000,
};

struct CUdevSmResource {
  unsigned smCount;
  unsigned minSmPartitionSize;
  unsigned smCoscheduledAlignment;
  unsigned flags;
};

struct CUdevWorkqueueConfigResource {
  CUdevice device;
  unsigned wqConcurrencyLimit;
  int sharingScope;
};

struct CUdevResource {
  CUdevResourceType type;
  unsigned char internal[92];
  union {
    CUdevSmResource sm;
    CUdevWorkqueueConfigResource wqConfig;
    unsigned char oversize[40];
  };
  CUdevResource* nextResource;
};

struct CU_DEV_SM_RESOURCE_GROUP_PARAMS {
  unsigned smCount;
  unsigned coscheduledSmCount;
  unsigned preferredCoscheduledSmCount;
  unsigned flags;
  unsigned reserved[12];
};

enum CUlogLevel : int {
  CU_LOG_LEVEL_ERROR = 0,
  CU_LOG_LEVEL_WARNING = 1,
};
using CUlogIterator = unsigned;
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUlogsCallback = void (*)(void* data, CUlogLevel logLevel, char* message, size_t length);

}  // extern "C"

static_assert(sizeof(CUctxCreateParams) == 24 && sizeof(CUmemDecompressParams) == 64);
static_assert(sizeof(CUDA_LAUNCH_PARAMS) == 56 && sizeof(CUdevResource) == 144);
static_assert(sizeof(CU_DEV_SM_RESOURCE_GROUP_PARAMS) == 64);
