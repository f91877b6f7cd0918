// What is set on streams, questions about clusters, pools by location, and what devices say they cannot.
//
// Round trips: 4.
#include "check.h"

using namespace sluice::programs;

namespace {

CUlaunchAttributeValue value_of(int number) {
  CUlaunchAttributeValue value{};
  value.priority = number;
  return value;
}

int set_on(CUstream stream, CUlaunchAttributeID attribute) {
  CUlaunchAttributeValue value{};
  CHECK(cu.cuStreamGetAttribute(stream, attribute, &value));
  return value.priority;
}

void check_stream_attributes() {
  CUstream first{};
  CUstream second{};
  CHECK(cu.cuStreamCreateWithPriority(&first, CU_STREAM_NON_BLOCKING, -1));
  CHECK(cu.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  say("defaults: priority %d, policy %d, domain %d", set_on(first, CU_LAUNCH_ATTRIBUTE_PRIORITY),
      set_on(first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY),
      set_on(first, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN));
  const CUlaunchAttributeValue priority = value_of(-2);
  const CUlaunchAttributeValue policy = value_of(CU_SYNC_POLICY_YIELD);
  CHECK(cu.cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority));
  CHECK(cu.cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &policy));
  int now = 0;
  CHECK(cu.cuStreamGetPriority(first, &now));
  say("set: priority %d, policy %d", now, set_on(first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY));
  CHECK(cu.cuStreamCopyAttributes(second, first));
  say("copied: priority %d, policy %d", set_on(second, CU_LAUNCH_ATTRIBUTE_PRIORITY),
      set_on(second, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY));
  CHECK(cu.cuStreamSetAttribute(nullptr, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &policy));
  say("default stream: policy %d", set_on(nullptr, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY));
  const CUlaunchAttributeValue wrong = value_of(9);
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE,
                cu.cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &wrong));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE,
                cu.cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &wrong));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE,
                cu.cuStreamSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr));
}

void check_clusters() {
  const CUfunction add = find_kernel(load_module(kAddPtx), "add");
  CUlaunchAttribute size{};
  size.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  size.value.clusterDim = {2, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = 8;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 128;
  config.attrs = &size;
  config.numAttrs = 1;
  for (int i = 0; i < 3; i++) {  // asked once, remembered after that
    int clusters = 0;
    int largest = 0;
    CHECK(cu.cuOccupancyMaxActiveClusters(&clusters, add, &config));
    CHECK(cu.cuOccupancyMaxPotentialClusterSize(&largest, add, &config));
    say("clusters of 2: %d at once, at most %d blocks in one", clusters, largest);
  }
}

void check_pools() {
  CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
  CUmemoryPool pool{};
  CUmemoryPool same{};
  CHECK(cu.cuMemGetDefaultMemPool(&pool, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
  CHECK(cu.cuDeviceGetDefaultMemPool(&same, 0));
  EXPECT(pool == same);
  CHECK(cu.cuMemGetMemPool(&same, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT(pool == same);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = device;
  CUmemoryPool own{};
  CHECK(cu.cuMemPoolCreate(&own, &properties));
  CHECK(cu.cuMemSetMemPool(&device, CU_MEM_ALLOCATION_TYPE_PINNED, own));
  CHECK(cu.cuMemGetMemPool(&same, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT(own == same);
  CHECK(cu.cuMemSetMemPool(&device, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
  CHECK(cu.cuMemPoolDestroy(own));
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED,
                cu.cuMemGetDefaultMemPool(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED,
                cu.cuMemGetDefaultMemPool(&pool, &device, CU_MEM_ALLOCATION_TYPE_MANAGED));
  device.id = 99;
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE,
                cu.cuMemGetDefaultMemPool(&pool, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
  say("pools by location");
}

void check_what_is_not_there() {
  const CUatomicOperation operations[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS};
  unsigned capabilities[2] = {9, 9};
  CHECK(cu.cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
  say("atomics with the host: %u %u", capabilities[0], capabilities[1]);
  int affinity = 9;
  CHECK(cu.cuDeviceGetExecAffinitySupport(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  say("execution affinity: %d", affinity);
  CUexecAffinityParam wanted{CU_EXEC_AFFINITY_TYPE_SM_COUNT, {{4}}};
  CUcontext context{};
  EXPECT_RESULT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cu.cuCtxCreate_v3(&context, &wanted, 1, 0, 0));
  CUctxCreateParams params{&wanted, 1, nullptr};
  EXPECT_RESULT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cu.cuCtxCreate_v4(&context, &params, 0, 0));
  EXPECT_RESULT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
                cu.cuCtxGetExecAffinity(&wanted, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  CUdeviceptr memory{};
  CHECK(cu.cuMemAlloc_v2(&memory, 4096));
  // The sizes in 32 bits of CUDA 2.
  size_t whole = 0;
  unsigned narrow = 0;
  CHECK(cu.cuDeviceTotalMem_v2(&whole, 0));
  CHECK(cu.cuDeviceTotalMem(&narrow, 0));
  EXPECT(whole > 0xffffffffull ? narrow == 0xffffffffu : narrow == whole);
}

}  // namespace

int main() {
  open_device();
  check_stream_attributes();
  check_clusters();
  check_pools();
  check_what_is_not_there();
}
