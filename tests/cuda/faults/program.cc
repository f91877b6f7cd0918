// Does one thing for some seconds, while a test breaks what lies between it and the GPU:
//   program idle|launch|copy_to|copy_back|synchronize|callback|illegal SECONDS
// Prints "ready" once it is at it. Ends with 0 and "done" when all results were right, with 3 and "error
// NAME" at the first CUDA error, and with 4 and "corrupt" at a wrong result.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "../driver/check.h"

using namespace sluice::programs;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kBytes = size_t{32} << 20;

constexpr const char* kSpinPtx = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry spin(.param .u32 count)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [count];
loop:
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra loop;
  ret;
}
.visible .entry illegal()
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 4096;
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

void need(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  say("error %s", error_name(result).c_str());
  std::fflush(stdout);
  std::exit(3);
}

void need_equal(const void* got, const void* wanted, size_t bytes) {
  if (std::memcmp(got, wanted, bytes) == 0) return;
  say("corrupt");
  std::fflush(stdout);
  std::_Exit(4);
}

class Activity {
 public:
  Activity(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  bool time_left() {
    if (!said_) {
      say("ready");
      std::fflush(stdout);
      said_ = true;
    }
    return Clock::now() < end_;
  }

 private:
  Clock::time_point end_;
  bool said_ = false;
};

std::vector<unsigned> random_words(size_t bytes) {
  std::vector<unsigned> words(bytes / 4);
  unsigned state = 12345;
  for (unsigned& word : words) word = state = state * 1664525u + 1013904223u;
  return words;
}

void launch_for(Activity activity) {
  constexpr unsigned kCount = 256;
  const CUfunction add = find_kernel(load_module(kAddPtx), "add");
  CUdeviceptr values = 0;
  need(cu.cuMemAlloc_v2(&values, kCount * 4));
  need(cu.cuMemsetD32Async(values, 0, kCount, nullptr));
  unsigned launched = 0;
  while (activity.time_left()) {
    for (int i = 0; i < 20; ++i, ++launched) need(launch(add, 1, kCount, nullptr, values, kCount, 1u));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the GPU keeps up
  }
  const std::vector<unsigned> wanted(kCount, launched);
  std::vector<unsigned> got(kCount);
  need(cu.cuMemcpyDtoH_v2(got.data(), values, kCount * 4));
  need_equal(got.data(), wanted.data(), kCount * 4);
}

void copy_for(Activity activity, bool back) {
  const auto source = random_words(kBytes);
  std::vector<unsigned> target(source.size());
  CUdeviceptr memory = 0;
  need(cu.cuMemAlloc_v2(&memory, kBytes));
  need(cu.cuMemcpyHtoD_v2(memory, source.data(), kBytes));
  while (activity.time_left()) {
    if (back) {
      std::memset(target.data(), 0, kBytes);
      need(cu.cuMemcpyDtoH_v2(target.data(), memory, kBytes));
      need_equal(target.data(), source.data(), kBytes);
    } else {
      need(cu.cuMemcpyHtoD_v2(memory, source.data(), kBytes));
    }
  }
  need(cu.cuMemcpyDtoH_v2(target.data(), memory, kBytes));
  need_equal(target.data(), source.data(), kBytes);
}

void idle_for(Activity activity) {
  const auto source = random_words(4096);
  std::vector<unsigned> target(source.size());
  CUdeviceptr memory = 0;
  need(cu.cuMemAlloc_v2(&memory, 4096));
  need(cu.cuMemcpyHtoD_v2(memory, source.data(), 4096));
  need(cu.cuCtxSynchronize());
  while (activity.time_left()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  need(cu.cuMemcpyDtoH_v2(target.data(), memory, 4096));
  need_equal(target.data(), source.data(), 4096);
}

void synchronize_for(Activity activity) {
  const CUfunction spin = find_kernel(load_module(kSpinPtx), "spin");
  while (activity.time_left()) {
    need(launch(spin, 1, 1, nullptr, 20'000'000u));
    need(cu.cuCtxSynchronize());
  }
}

void callback_for(Activity activity) {
  struct State {
    Activity& activity;
    bool ran = false;
  } state{activity};
  CUstream stream = nullptr;
  need(cu.cuStreamCreate(&stream, 0));
  need(cu.cuLaunchHostFunc(
      stream,
      [](void* data) {
        auto* its = static_cast<State*>(data);
        while (its->activity.time_left()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        its->ran = true;
      },
      &state));
  const CUresult result = cu.cuStreamSynchronize(stream);
  if (result != CUDA_SUCCESS) {
    // The function may still be running in its thread, which ends with the process.
    say("error %s", error_name(result).c_str());
    std::fflush(stdout);
    std::_Exit(3);
  }
  EXPECT(state.ran);
}

void illegal() {
  Activity activity(0);
  need(launch(find_kernel(load_module(kSpinPtx), "illegal"), 1, 1, nullptr));
  const CUresult first = cu.cuCtxSynchronize();
  // Sticky: every later call in this context says the same.
  CUdeviceptr memory = 0;
  EXPECT_RESULT(first, cu.cuMemAlloc_v2(&memory, 4096));
  EXPECT_RESULT(first, cu.cuCtxSynchronize());
  activity.time_left();
  need(first);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  open_device();
  Activity activity(argc > 2 ? std::strtod(argv[2], nullptr) : 1);
  if (what == "idle")
    idle_for(activity);
  else if (what == "launch")
    launch_for(activity);
  else if (what == "copy_to")
    copy_for(activity, false);
  else if (what == "copy_back")
    copy_for(activity, true);
  else if (what == "synchronize")
    synchronize_for(activity);
  else if (what == "callback")
    callback_for(activity);
  else if (what == "illegal")
    illegal();
  else
    return 2;
  say("done");
  return 0;
}
