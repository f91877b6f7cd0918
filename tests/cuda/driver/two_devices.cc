// One program on two devices, which may be on one server or on two: addresses that mean one thing each,
// copies and events between the devices, and one library whose kernels run on both.
//
// Round trips: 18.
#include <thread>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 6u << 20;  // 24 MiB: several pieces
constexpr size_t kBytes = size_t{kCount} * sizeof(unsigned);
constexpr unsigned kThreads = 256;

struct Side {
  CUcontext context;
  CUstream stream;
  CUevent event;
  CUdeviceptr values;
};

Side open_side(int ordinal) {
  Side side{};
  CUdevice device{};
  CHECK(cu.cuDeviceGet(&device, ordinal));
  CHECK(cu.cuDevicePrimaryCtxRetain(&side.context, device));
  CHECK(cu.cuCtxSetCurrent(side.context));
  CHECK(cu.cuStreamCreate(&side.stream, CU_STREAM_NON_BLOCKING));
  CHECK(cu.cuEventCreate(&side.event, CU_EVENT_DISABLE_TIMING));
  CHECK(cu.cuMemAlloc_v2(&side.values, kBytes));
  return side;
}

void expect_all(CUdeviceptr values, unsigned wanted) {
  std::vector<unsigned> back(kCount);
  CHECK(cu.cuMemcpyDtoH_v2(back.data(), values, kBytes));
  for (const unsigned value : back) EXPECT(value == wanted);
}

bool overlap(CUdeviceptr a, CUdeviceptr b, size_t bytes) { return a < b + bytes && b < a + bytes; }

void addresses_mean_one_thing(const Side& first, const Side& second) {
  std::vector<CUdeviceptr> all{first.values, second.values};
  for (int round = 0; round < 4; round++) {
    for (const Side* side : {&first, &second}) {
      CHECK(cu.cuCtxSetCurrent(side->context));
      CUdeviceptr more{};
      CHECK(cu.cuMemAlloc_v2(&more, kBytes));
      for (const CUdeviceptr other : all) EXPECT(!overlap(more, other, kBytes));
      CUcontext owner{};
      CHECK(cu.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, more));
      EXPECT(owner == side->context);
      all.push_back(more);
    }
  }
  for (size_t i = 2; i < all.size(); i++) CHECK(cu.cuMemFree_v2(all[i]));
  say("addresses mean one thing each");
}

// A round of work that goes from one device to the other and back, ordered by events alone.
void streams_wait_for_each_other(const Side& first, const Side& second, CUkernel add) {
  const auto run = [&](const Side& side, unsigned amount) {
    CHECK(cu.cuCtxSetCurrent(side.context));
    CHECK(launch(reinterpret_cast<CUfunction>(add), kCount / kThreads, kThreads, side.stream, side.values,
                 kCount, amount));
    CHECK(cu.cuEventRecord(side.event, side.stream));
  };
  CHECK(cu.cuCtxSetCurrent(first.context));
  CHECK(cu.cuMemsetD32Async(first.values, 1, kCount, first.stream));
  for (unsigned round = 0; round < 3; round++) {
    run(first, 10);
    CHECK(cu.cuStreamWaitEvent(second.stream, first.event, 0));
    CHECK(cu.cuMemcpyDtoDAsync_v2(second.values, first.values, kBytes, second.stream));
    run(second, 100);
    CHECK(cu.cuStreamWaitEvent(first.stream, second.event, 0));
    CHECK(cu.cuMemcpyDtoDAsync_v2(first.values, second.values, kBytes, first.stream));
  }
  CHECK(cu.cuStreamSynchronize(first.stream));
  expect_all(first.values, 331);
  CHECK(cu.cuStreamSynchronize(second.stream));
  expect_all(second.values, 331);
  say("streams of two devices wait for each other");
}

// Calls about memory of the device that is not current.
void memory_of_the_other(const Side& first, const Side& second) {
  CHECK(cu.cuCtxSetCurrent(first.context));
  std::vector<unsigned> values(kCount, 8);
  CHECK(cu.cuMemcpyHtoD_v2(second.values, values.data(), kBytes));
  expect_all(second.values, 8);
  CHECK(CU(cuMemcpyDtoD_v2)(first.values, second.values, kBytes));
  expect_all(first.values, 8);
  CHECK(CU(cuMemcpyPeer)(second.values, second.context, first.values, first.context, 4096));
  CHECK(cu.cuCtxSynchronize());
  CHECK(cu.cuMemFree_v2(second.values));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyDtoD_v2)(first.values, second.values, kBytes));
  say("memory of the other device is reached");
}

}  // namespace

// With any argument: works on both devices until something fails.
int main(int argument_count, char**) {
  open_driver();
  int count = 0;
  CHECK(cu.cuDeviceGetCount(&count));
  if (count < 2) {
    say("there is one device only");
    return 0;
  }
  const Side first = open_side(0);
  const Side second = open_side(1);
  addresses_mean_one_thing(first, second);

  CUlibrary library{};
  CUkernel add{};
  CHECK(cu.cuLibraryLoadData(&library, kAddPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cu.cuLibraryGetKernel(&add, library, "add"));
  do {
    streams_wait_for_each_other(first, second, add);
    std::fflush(stdout);
  } while (argument_count > 1);
  memory_of_the_other(first, second);
  CHECK(cu.cuLibraryUnload(library));
}
