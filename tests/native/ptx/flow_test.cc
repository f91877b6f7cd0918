// Control flow: lanes that part, meet again, call each other's functions and wait for each other.
#include <gtest/gtest.h>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

const char* const kHead = ".version 8.7\n.target sm_90\n.address_size 64\n";

// A kernel over one buffer of 32-bit values, one per thread; `body` turns %v (the thread's value) into
// %d. %t is the thread's number.
std::string per_thread(const std::string& body, const std::string& before = "") {
  return std::string(kHead) + before +
         ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b32 %t, %v, %d, %r<20>;\n.reg .b64 "
         "%rd<8>;\n"
         "ld.param.u64 %rd1, [p];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %rd2, %t, 4;\nadd.u64 %rd1, %rd1, "
         "%rd2;\n"
         "ld.global.u32 %v, [%rd1];\n" +
         body + "\nst.global.u32 [%rd1], %d;\nret;\n}\n";
}

std::vector<uint32_t> run(const std::string& text, std::vector<uint32_t> values) {
  Device device(text);
  EXPECT_TRUE(device.status().ok()) << device.status().message;
  if (!device.status().ok()) return {};
  const uint64_t buffer = device.upload(values);
  Shape shape;
  shape.block = {static_cast<uint32_t>(values.size()), 1, 1};
  const Status status = device.launch("k", Params().add(buffer), shape);
  EXPECT_TRUE(status.ok()) << status.message;
  return device.download<uint32_t>(buffer, values.size());
}

std::vector<uint32_t> numbers(uint32_t count) {
  std::vector<uint32_t> values(count);
  for (uint32_t i = 0; i < count; ++i) values[i] = i * 2654435761u >> 7;
  return values;
}

template <class F>
void expect_each(const std::string& text, uint32_t threads, F f) {
  const std::vector<uint32_t> values = numbers(threads);
  const std::vector<uint32_t> got = run(text, values);
  ASSERT_EQ(got.size(), values.size());
  for (uint32_t i = 0; i < threads; ++i) EXPECT_EQ(got[i], f(values[i], i)) << "thread " << i;
}

TEST(Flow, NestedBranches) {
  const std::string text = per_thread(R"(
    and.b32 %r1, %v, 1; setp.eq.u32 %p1, %r1, 0; mov.u32 %d, 0;
    @%p1 bra EVEN;
    and.b32 %r1, %v, 2; setp.eq.u32 %p2, %r1, 0;
    @%p2 bra ONE;
    add.u32 %d, %d, 3; bra JOIN;
    ONE: add.u32 %d, %d, 1; bra JOIN;
    EVEN: and.b32 %r1, %v, 4; setp.eq.u32 %p3, %r1, 0;
    @!%p3 bra FOUR;
    add.u32 %d, %d, 100;
    FOUR: add.u32 %d, %d, 10;
    JOIN: add.u32 %d, %d, 1000;)");
  for (const uint32_t threads : {1u, 31u, 32u, 100u}) {
    expect_each(text, threads, [](uint32_t v, uint32_t) {
      uint32_t d = 0;
      if (v % 2 == 0) {
        if ((v & 4) == 0) d += 100;
        d += 10;
      } else {
        d += (v & 2) == 0 ? 1 : 3;
      }
      return d + 1000;
    });
  }
}

// Collatz: every lane loops its own number of times, with a branch inside.
TEST(Flow, LoopsOfDifferentLength) {
  expect_each(per_thread(R"(
    and.b32 %v, %v, 1023; add.u32 %v, %v, 1; mov.u32 %d, 0;
    LOOP: setp.eq.u32 %p1, %v, 1;
    @%p1 bra DONE;
    add.u32 %d, %d, 1;
    and.b32 %r1, %v, 1; setp.ne.u32 %p2, %r1, 0;
    @%p2 bra ODD;
    shr.u32 %v, %v, 1; bra LOOP;
    ODD: mad.lo.u32 %v, %v, 3, 1; bra LOOP;
    DONE:)"),
              96, [](uint32_t v, uint32_t) {
                v = (v & 1023) + 1;
                uint32_t d = 0;
                for (; v != 1; ++d) v = v % 2 != 0 ? 3 * v + 1 : v / 2;
                return d;
              });
}

// Two loop heads that jump into each other's bodies: no structured form exists.
TEST(Flow, Irreducible) {
  expect_each(per_thread(R"(
    and.b32 %v, %v, 255; mov.u32 %d, 0;
    and.b32 %r1, %v, 1; setp.ne.u32 %p1, %r1, 0;
    @%p1 bra B;
    A: add.u32 %d, %d, 1; setp.eq.u32 %p2, %v, 0; @%p2 bra OUT;
    sub.u32 %v, %v, 1; and.b32 %r1, %v, 2; setp.ne.u32 %p3, %r1, 0; @%p3 bra A;
    B: add.u32 %d, %d, 100; setp.eq.u32 %p2, %v, 0; @%p2 bra OUT;
    sub.u32 %v, %v, 1; and.b32 %r1, %v, 4; setp.ne.u32 %p3, %r1, 0; @%p3 bra B;
    bra A;
    OUT:)"),
              64, [](uint32_t v, uint32_t) {
                v &= 255;
                uint32_t d = 0;
                bool in_b = (v & 1) != 0;
                for (;;) {
                  d += in_b ? 100 : 1;
                  if (v == 0) return d;
                  --v;
                  in_b = in_b ? (v & 4) != 0 : (v & 2) == 0;
                }
              });
}

TEST(Flow, ExitInTheMiddle) {
  const std::vector<uint32_t> got = run(per_thread(R"(
    setp.lt.u32 %p1, %t, 7; @%p1 exit;
    setp.gt.u32 %p2, %t, 60; @%p2 bra LEAVE;
    mov.u32 %d, 5; bra STORE;
    LEAVE: exit;
    STORE:)"),
                                        std::vector<uint32_t>(64, 9));
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i < 7 || i > 60 ? 9u : 5u);
}

TEST(Flow, BranchTable) {
  expect_each(per_thread(R"(
    and.b32 %r1, %v, 3;
    table: .branchtargets L0, L1, L2, L1;
    brx.idx %r1, table;
    L0: mov.u32 %d, 10; bra J;
    L1: mov.u32 %d, 11; bra J;
    L2: mov.u32 %d, 12;
    J: add.u32 %d, %d, %t;)"),
              80, [](uint32_t v, uint32_t t) {
                return (v % 4 == 0 ? 10 : v % 4 == 2 ? 12 : 11) + t;
              });
}

// After a divergent region all lanes are together again: a full-warp shuffle and vote see everyone.
TEST(Flow, LanesMeetBeforeAShuffle) {
  expect_each(per_thread(R"(
    and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %t;
    @%p1 bra FAR;
    add.u32 %r2, %r2, 1000;
    FAR: shfl.sync.bfly.b32 %d, %r2, 1, 31, -1;
    vote.sync.ballot.b32 %r3, %p1, -1;
    add.u32 %d, %d, %r3;)"),
              64, [](uint32_t, uint32_t t) {
                const uint32_t other = t ^ 1;
                return other + (other % 4 == 0 ? 0 : 1000) + 0x11111111u;
              });
}

TEST(Flow, RecursionWithDifferentDepths) {
  const std::string function = R"(
    .func (.param .b32 result) fib(.param .b32 n)
    {
      .reg .pred %p; .reg .b32 %n, %a, %b;
      ld.param.u32 %n, [n];
      setp.ge.u32 %p, %n, 2;
      @%p bra DEEPER;
      st.param.b32 [result], %n;
      ret;
      DEEPER:
      sub.u32 %a, %n, 1;
      { .param .b32 in; .param .b32 out; st.param.b32 [in], %a; call (out), fib, (in); ld.param.b32 %a, [out]; }
      sub.u32 %b, %n, 2;
      { .param .b32 in; .param .b32 out; st.param.b32 [in], %b; call (out), fib, (in); ld.param.b32 %b, [out]; }
      add.u32 %a, %a, %b;
      st.param.b32 [result], %a;
      ret;
    }
  )";
  expect_each(per_thread(R"(
    rem.u32 %v, %v, 11;
    { .param .b32 in; .param .b32 out; st.param.b32 [in], %v; call (out), fib, (in); ld.param.b32 %d, [out]; })",
                         function),
              64, [](uint32_t v, uint32_t) {
                uint32_t a = 0, b = 1;
                for (v %= 11; v != 0; --v) {
                  b += a;
                  a = b - a;
                }
                return a;
              });
}

TEST(Flow, CallsThroughDifferentPointers) {
  const std::string functions = R"(
    .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x; ld.param.u32 %x, [a]; shl.b32 %x, %x, 1; st.param.b32 [r], %x; ret; }
    .func (.param .b32 r) plus(.param .b32 a) { .reg .b32 %x; ld.param.u32 %x, [a]; add.u32 %x, %x, 5; st.param.b32 [r], %x; ret; }
    .global .align 8 .u64 table[2] = {twice, plus};
  )";
  expect_each(per_thread(R"(
    and.b32 %r1, %t, 1; mul.wide.u32 %rd3, %r1, 8; mov.u64 %rd4, table; add.u64 %rd4, %rd4, %rd3; ld.global.u64 %rd5, [%rd4];
    { .param .b32 in; .param .b32 out; st.param.b32 [in], %v;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (out), %rd5, (in), proto; ld.param.b32 %d, [out]; })",
                         functions),
              70, [](uint32_t v, uint32_t t) { return t % 2 == 0 ? 2 * v : v + 5; });
}

// A lock taken lane by lane: the lane that has it waits for nobody.
TEST(Flow, SpinLockInsideAWarp) {
  const std::string text = std::string(kHead) + R"(
    .global .u32 lock;
    .visible .entry k(.param .u64 p)
    {
      .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;
      ld.param.u64 %rd1, [p];
      AGAIN: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p, %r1, 0;
      @%p bra AGAIN;
      ld.volatile.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1], %r2;
      membar.gl; atom.global.exch.b32 %r1, [lock], 0;
      ret;
    })";
  Device device(text);
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  const uint64_t counter = device.upload(std::vector<uint32_t>{0});
  Shape shape;
  shape.grid = {3, 1, 1};
  shape.block = {70, 1, 1};
  shape.threads = 2;
  const Status status = device.launch("k", Params().add(counter), shape);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(device.download<uint32_t>(counter, 1)[0], 210u);
}

// Lanes on different paths to one warp-wide instruction wait for each other, and a spinning lane that has
// been left alone is collected again.
TEST(Flow, LanesAreCollectedForAShuffle) {
  expect_each(per_thread(R"(
    st.shared.u32 [flag], 0; bar.sync 0;
    mov.u32 %r1, %laneid; setp.ne.u32 %p1, %r1, 5; mov.u32 %r3, %t;
    @%p1 bra SET;
    SPIN: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;
    add.u32 %r3, %r3, 500; bra MEET;
    SET: setp.ne.u32 %p3, %r1, 9; @%p3 bra MEET;
    st.volatile.shared.u32 [flag], 1;
    MEET: bar.warp.sync -1; shfl.sync.idx.b32 %d, %r3, 5, 31, -1; vote.sync.ballot.b32 %r4, %p1, -1; add.u32 %d, %d, %r4;)",
                         ".shared .u32 flag;\n"),
              32, [](uint32_t, uint32_t) { return 505u + ~(1u << 5); });
}

// A lane that holds what the others wait for at their meeting place: they are let go on, and collected.
TEST(Flow, WaitingLanesGoOnAndAreCollected) {
  expect_each(per_thread(R"(
    st.shared.u32 [flag], 0; bar.sync 0;
    mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 3;
    @!%p1 bra AFTER;
    SPIN: ld.volatile.shared.u32 %r2, [flag]; setp.ne.u32 %p2, %r2, 31; @%p2 bra SPIN;
    AFTER:
    @%p1 bra SKIP;
    atom.shared.add.u32 %r2, [flag], 1;
    SKIP: shfl.sync.bfly.b32 %d, %t, 16, 31, -1;)",
                         ".shared .u32 flag;\n"),
              32, [](uint32_t, uint32_t t) { return t ^ 16; });
}

// Warps of a block wait for each other through memory, without a barrier.
TEST(Flow, WarpsTakeTurns) {
  const std::string text = per_thread(R"(
    st.shared.u32 [flag], 0; bar.sync 0;
    setp.lt.u32 %p1, %t, 32; @%p1 bra WAIT;
    st.shared.u32 [flag], 77; mov.u32 %d, 1; bra END;
    WAIT: ld.volatile.shared.u32 %d, [flag]; setp.ne.u32 %p2, %d, 77; @%p2 bra WAIT;
    END:)",
                                      ".shared .u32 flag;\n");
  expect_each(text, 64, [](uint32_t, uint32_t t) { return t < 32 ? 77u : 1u; });
}

TEST(Barrier, OrdersSharedMemory) {
  const std::string text = per_thread(R"(
    mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %v;
    bar.sync 0;
    mov.u32 %r3, %ntid.x; sub.u32 %r3, %r3, 1; sub.u32 %r3, %r3, %t; mad.lo.u32 %r2, %r3, 4, %r1; ld.shared.u32 %d, [%r2];)",
                                      ".shared .align 4 .b8 tile[4096];\n");
  const std::vector<uint32_t> values = numbers(1000);
  const std::vector<uint32_t> got = run(text, values);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(got[i], values[999 - i]);
}

TEST(Barrier, Reductions) {
  const std::string text = per_thread(R"(
    and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0;
    bar.red.popc.u32 %d, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    setp.lt.u32 %p4, %t, 100; bar.red.and.pred %p5, 0, %p4;
    @%p2 add.u32 %d, %d, 1000;
    @%p3 add.u32 %d, %d, 2000;
    @%p5 add.u32 %d, %d, 4000;)");
  expect_each(text, 99, [](uint32_t, uint32_t) { return 50u + 2000 + 4000; });
}

// Half the block works as producers, half as consumers, on a named barrier with a count.
TEST(Barrier, ArriveAndSync) {
  const std::string text = per_thread(R"(
    setp.ge.u32 %p1, %t, 64; @%p1 bra TAKE;
    mov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %v; bar.arrive 3, 128; mov.u32 %d, 0; bra END;
    TAKE: bar.sync 3, 128; sub.u32 %r3, %t, 64; mov.u32 %r1, tile; mad.lo.u32 %r2, %r3, 4, %r1; ld.shared.u32 %d, [%r2];
    END:)",
                                      ".shared .align 4 .b8 tile[256];\n");
  const std::vector<uint32_t> values = numbers(128);
  const std::vector<uint32_t> got = run(text, values);
  for (uint32_t i = 64; i < 128; ++i) EXPECT_EQ(got[i], values[i - 64]);
}

// Threads that exited are not waited for.
TEST(Barrier, AfterExits) {
  const std::string text = per_thread("setp.ge.u32 %p1, %t, 40; @%p1 exit;\nbar.sync 0;\nmov.u32 %d, 3;");
  const std::vector<uint32_t> got = run(text, std::vector<uint32_t>(128, 1));
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i < 40 ? 3u : 1u);
}

// Both sides of a branch have a barrier: each thread is counted where it comes.
TEST(Barrier, InDivergentCode) {
  const std::string text = per_thread(R"(
    and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;
    barrier.sync 0; mov.u32 %d, 1; bra END;
    EVEN: barrier.sync 0; mov.u32 %d, 2;
    END:)");
  expect_each(text, 64, [](uint32_t, uint32_t t) { return t % 2 == 0 ? 2u : 1u; });
}

// Copies of 16 bytes of which only some are read, and one that is switched off.
TEST(CopyAsync, FillsWithZeros) {
  const std::string text = std::string(kHead) + R"(
    .shared .align 16 .b8 tile[512];
    .visible .entry k(.param .u64 from, .param .u64 to)
    {
      .reg .pred %p; .reg .b32 %t, %s, %n, %v<5>; .reg .b64 %rd<4>;
      mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s;
      ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; mad.wide.u32 %rd1, %t, 16, %rd1; mad.wide.u32 %rd2, %t, 16, %rd2;
      and.b32 %n, %t, 3; shl.b32 %n, %n, 2; setp.eq.u32 %p, %t, 31;
      @!%p cp.async.ca.shared.global [%s], [%rd1], 16, %n;
      @%p cp.async.cg.shared.global [%s], [%rd1], 16;
      cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
      ld.shared.v4.u32 {%v1, %v2, %v3, %v4}, [%s]; st.global.v4.u32 [%rd2], {%v1, %v2, %v3, %v4};
      ret;
    })";
  Device device(text);
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  const std::vector<uint32_t> values = numbers(128);
  const uint64_t to = device.allocate(512);
  const Status status = device.launch("k", Params().add(device.upload(values)).add(to));
  ASSERT_TRUE(status.ok()) << status.message;
  const std::vector<uint32_t> got = device.download<uint32_t>(to, 128);
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t read = i / 4 == 31 ? 4 : i / 4 % 4;
    EXPECT_EQ(got[i], i % 4 < read ? values[i] : 0u) << i;
  }
}

}  // namespace
}  // namespace sluice::ptx::test
