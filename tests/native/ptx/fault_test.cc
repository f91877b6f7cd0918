// What goes wrong in a kernel becomes the CUDA error that hardware gives, with a message naming the PTX
// line; the process lives on.
#include <gtest/gtest.h>

#include <thread>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

std::string module_of(const std::string& body, const std::string& before = "") {
  return ".version 8.7\n.target sm_90\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<10>;\n"
         ".reg .b64 %rd<10>;\n.reg .f32 %f<4>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\n" +
         body + "\nret;\n}\n";
}

Status run(const std::string& body, uint64_t p, uint32_t n, Device& device) {
  (void)body;
  return device.launch("k", Params().add(p).add(n));
}

struct Bounds {
  const char* name;
  const char* access;
  uint32_t bytes;
};

class BoundsTest : public testing::TestWithParam<Bounds> {};

// The last element is fine and one byte further is not, exactly.
TEST_P(BoundsTest, EndsAtTheByte) {
  const Bounds& at = GetParam();
  const std::string text =
      module_of(std::string("cvt.u64.u32 %rd2, %r1;\nadd.u64 %rd1, %rd1, %rd2;\n") + at.access);
  Device device(text);
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  const uint64_t buffer = device.allocate(100 * at.bytes);
  EXPECT_EQ(run(text, buffer, 99 * at.bytes, device).code, CUDA_SUCCESS);
  const Status beyond = run(text, buffer, 100 * at.bytes, device);
  EXPECT_EQ(beyond.code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(beyond.message.find("PTX line"), std::string::npos) << beyond.message;
  EXPECT_EQ(run(text, buffer, static_cast<uint32_t>(-at.bytes), device).code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(run(text, 0, 0, device).code, CUDA_ERROR_ILLEGAL_ADDRESS);
  if (at.bytes > 1) {
    EXPECT_EQ(run(text, buffer, 1, device).code, CUDA_ERROR_MISALIGNED_ADDRESS);
  }
  // A buffer that ends in the middle of an element.
  const uint64_t odd = device.allocate(100 * at.bytes - 1);
  if (at.bytes > 1) {
    EXPECT_EQ(run(text, odd, 99 * at.bytes, device).code, CUDA_ERROR_ILLEGAL_ADDRESS);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, BoundsTest,
                         testing::Values(Bounds{"load_u8", "ld.global.u8 %r2, [%rd1];", 1},
                                         Bounds{"load_u32", "ld.global.u32 %r2, [%rd1];", 4},
                                         Bounds{"load_u64", "ld.global.u64 %rd3, [%rd1];", 8},
                                         Bounds{"load_v4", "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1];", 16},
                                         Bounds{"load_generic", "ld.u32 %r2, [%rd1];", 4},
                                         Bounds{"store_u32", "st.global.u32 [%rd1], %r1;", 4},
                                         Bounds{"store_u8", "st.global.u8 [%rd1], %r1;", 1},
                                         Bounds{"store_v2", "st.global.v2.u64 [%rd1], {%rd1, %rd1};", 16},
                                         Bounds{"atomic", "atom.global.add.u32 %r2, [%rd1], 1;", 4},
                                         Bounds{"reduction", "red.global.add.f64 [%rd1], 0d3FF0000000000000;",
                                                8},
                                         Bounds{"cas", "atom.global.cas.b64 %rd3, [%rd1], 0, 1;", 8}),
                         [](const auto& test_case) { return test_case.param.name; });

TEST(Fault, SharedMemoryEndsAtTheByte) {
  Device device(
      module_of("cvt.u64.u32 %rd2, %r1;\nst.shared.u32 [%rd2], 7;\n", ".shared .align 4 .b8 pad[64];\n") +
      ".visible .entry uses() { .reg .b32 %r; ld.shared.u32 %r, [pad]; ret; }\n");
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  Shape shape;
  shape.shared_bytes = 128;
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(124u), shape).code, CUDA_SUCCESS);
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(128u), shape).code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(126u), shape).code,
            CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(0u)).code, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(Fault, LocalMemoryIsBounded) {
  Device device(
      module_of(".local .align 8 .b8 array[64];\nmov.u64 %rd2, array;\ncvt.u64.u32 %rd3, %r1;\n"
                "add.u64 %rd2, %rd2, %rd3;\nst.local.u32 [%rd2], 7;\n"));
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(60u)).code, CUDA_SUCCESS);
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(64u)).code, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(1u << 30)).code, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(Fault, PredicatedOffAccessesDoNotFault) {
  Device device(
      module_of("setp.ne.u32 %p1, %r1, 0;\n@%p1 ld.global.u32 %r2, [%rd1];\n@%p1 st.global.u32 [%rd1], %r2;\n"
                "@%p1 atom.global.add.u32 %r2, [%rd1], 1;\n@%p1 trap;\n"));
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(0u)).code, CUDA_SUCCESS);
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(1u)).code, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(Fault, OneLaneIsEnough) {
  Device device(
      module_of("mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
                "st.global.u32 [%rd1], %r2;\n"));
  const uint64_t buffer = device.allocate(31 * 4);
  EXPECT_EQ(device.launch("k", Params().add(buffer).add(0u)).code, CUDA_ERROR_ILLEGAL_ADDRESS);
  Shape shape;
  shape.block = {31, 1, 1};
  EXPECT_EQ(device.launch("k", Params().add(buffer).add(0u), shape).code, CUDA_SUCCESS);
}

TEST(Fault, TrapAndUnknownCall) {
  Device trap(module_of("trap;"));
  EXPECT_EQ(trap.launch("k", Params().add(uint64_t{0}).add(0u)).code, CUDA_ERROR_LAUNCH_FAILED);
  Device call(module_of("{ .reg .b32 %x; prototype_0 : .callprototype _ ();\ncall %rd1, (), prototype_0; }"));
  ASSERT_TRUE(call.status().ok()) << call.status().message;
  EXPECT_EQ(call.launch("k", Params().add(uint64_t{0x1234}).add(0u)).code, CUDA_ERROR_INVALID_PC);
}

TEST(Fault, EndlessRecursionOverflowsTheStack) {
  Device device(
      ".version 8.7\n.target sm_90\n.address_size 64\n.func f()\n{\ncall f, ();\nret;\n}\n"
      ".visible .entry k()\n{\ncall f, ();\nret;\n}\n");
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  EXPECT_EQ(device.launch("k", {}).code, CUDA_ERROR_HARDWARE_STACK_ERROR);
}

TEST(Fault, ABarrierThatCannotCompleteEnds) {
  // One warp waits for 64 threads in a block of 32.
  Device device(module_of("bar.sync 1, 64;"));
  EXPECT_EQ(device.launch("k", Params().add(uint64_t{0}).add(0u)).code, CUDA_ERROR_LAUNCH_FAILED);
  Device number(module_of("bar.sync %r1;"));
  EXPECT_EQ(number.launch("k", Params().add(uint64_t{0}).add(16u)).code, CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

TEST(Fault, AnEndlessLoopEndsWhenCancelled) {
  const CompileResult compiled = compile(module_of("AGAIN:\nbra AGAIN;"), {});
  ASSERT_TRUE(compiled.status.ok());
  ASSERT_TRUE(compiled.program->bind({}).ok());
  std::atomic<bool> cancelled{false};
  LaunchEnvironment environment;
  environment.cancelled = &cancelled;
  LaunchConfig config;
  config.block = {64, 1, 1};
  config.grid = {4, 1, 1};
  std::vector<std::byte> params(16);
  config.params = params;
  Status status;
  std::thread launch([&] { status = compiled.program->launch(0, config, environment); });
  cancelled = true;
  launch.join();
  EXPECT_EQ(status.code, CUDA_ERROR_LAUNCH_FAILED);
}

TEST(Fault, BadLaunchesAreRefused) {
  Device device(module_of(""));
  const auto with = [&](Dim3 grid, Dim3 block) {
    Shape shape;
    shape.grid = grid;
    shape.block = block;
    return device.launch("k", Params().add(uint64_t{0}).add(0u), shape).code;
  };
  EXPECT_EQ(with({1, 1, 1}, {1024, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(with({1, 1, 1}, {1024, 2, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({0, 1, 1}, {32, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({1, 1, 1}, {32, 0, 1}), CUDA_ERROR_INVALID_VALUE);
}

// A module with one kernel that cannot be carried runs its other kernels.
TEST(Refusal, IsThatKernelsAlone) {
  Device device(
      ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry good() { ret; }\n"
      ".visible .entry bad()\n{\n.reg .b64 %rd<3>;\nwgmma.fence.sync.aligned;\nret;\n}\n");
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  EXPECT_EQ(device.launch("good", {}).code, CUDA_SUCCESS);
  const Status bad = device.launch("bad", {});
  EXPECT_EQ(bad.code, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(bad.message.find("wgmma"), std::string::npos) << bad.message;
  EXPECT_NE(bad.message.find("line 8"), std::string::npos) << bad.message;
}

TEST(Refusal, NewerTargetsAndText) {
  EXPECT_EQ(
      compile(".version 8.7\n.target sm_120\n.address_size 64\n", {.compute_capability = 100}).status.code,
      CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(compile("not ptx", {}).status.code, CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(compile("", {}).status.code, CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(compile(".version 20.0\n.target sm_50\n", {}).status.code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  const Status line = compile(module_of("add.s32 %r1, %r2;"), {}).status;
  EXPECT_EQ(line.code, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(line.message.find("line 12"), std::string::npos) << line.message;
}

}  // namespace
}  // namespace sluice::ptx::test
