// Processes: a child of a program that uses the driver cannot use it and does the parent no harm; a child
// that was made before, or that runs a program of its own, has the devices for itself.
//
// Round trips: 207.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 1024;

// Fills memory on the device, adds to it, and looks at the result.
void compute(CUfunction add) {
  CUdeviceptr values{};
  CHECK(cu.cuMemAlloc_v2(&values, kCount * sizeof(unsigned)));
  CHECK(CU(cuMemsetD32_v2)(values, 5, kCount));
  CHECK(launch(add, kCount / 256, 256, nullptr, values, kCount, 6u));
  std::vector<unsigned> back(kCount);
  CHECK(cu.cuMemcpyDtoH_v2(back.data(), values, kCount * sizeof(unsigned)));
  for (const unsigned value : back) EXPECT(value == 11);
  CHECK(cu.cuMemFree_v2(values));
}

void compute_from_the_start() {
  open_device();
  compute(find_kernel(load_module(kAddPtx), "add"));
}

// Runs `body` in a child and waits for it to end well.
template <typename Body>
void in_child(const Body& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void driver_is_not_initialized() {
  CUcontext context{};
  CUdeviceptr memory{};
  int count = 0;
  EXPECT_RESULT(CUDA_ERROR_NOT_INITIALIZED, cu.cuCtxGetCurrent(&context));
  EXPECT_RESULT(CUDA_ERROR_NOT_INITIALIZED, cu.cuMemAlloc_v2(&memory, 4096));
  EXPECT_RESULT(CUDA_ERROR_NOT_INITIALIZED, cu.cuCtxSynchronize());
  EXPECT_RESULT(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount(&count));
  EXPECT_RESULT(CUDA_ERROR_NOT_INITIALIZED, cu.cuInit(0));
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count > 1) {
    compute_from_the_start();
    return 0;
  }
  in_child(compute_from_the_start);
  say("a child made before the driver was initialized uses it");

  open_device();
  const CUfunction add = find_kernel(load_module(kAddPtx), "add");
  compute(add);
  in_child(driver_is_not_initialized);
  compute(add);
  say("a child made after that cannot, and the parent goes on");

  in_child([&] {
    execl(arguments[0], arguments[0], "as a program", nullptr);
    std::_Exit(127);
  });
  say("a program that the child becomes has the devices for itself");

  std::thread beside([&, context = open_device()] {
    CHECK(cu.cuCtxSetCurrent(context));
    for (int i = 0; i < 100; i++) compute(add);
  });
  for (int i = 0; i < 20; i++) in_child(driver_is_not_initialized);
  beside.join();
  compute(add);
  say("children made while other threads use the driver do no harm");
}
