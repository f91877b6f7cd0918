#include "worker/limits.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace sluice::worker {
namespace {

constexpr uint64_t kLimit = 1000;

std::shared_ptr<AllocationMemory> make(size_t gpus = 2) { return std::move(*AllocationMemory::create(gpus)); }

TEST(Limits, AreExactAndForAllSessionsTogether) {
  const auto memory = make();
  SlotAccounting a(memory, *memory->take_slot(), {kLimit, 50});
  SlotAccounting b(memory, *memory->take_slot(), {kLimit, 50});
  EXPECT_TRUE(a.reserve(0, 600));
  EXPECT_FALSE(b.reserve(0, 401));
  EXPECT_TRUE(b.reserve(0, 400));
  EXPECT_FALSE(a.reserve(0, 1));
  EXPECT_TRUE(a.reserve(0, 0));
  EXPECT_TRUE(b.reserve(1, 50));
  EXPECT_EQ(a.used(0), 1000u);
  EXPECT_EQ(a.used_here(0), 600u);
  EXPECT_EQ(b.used(1), 50u);
  a.release(0, 100);
  EXPECT_TRUE(b.reserve(0, 100));
  EXPECT_FALSE(b.reserve(0, UINT64_MAX));
}

TEST(Limits, ReleasingTooMuchOrOnNoDeviceDoesNoHarm) {
  const auto memory = make();
  SlotAccounting a(memory, *memory->take_slot(), {kLimit});
  a.release(0, 5);
  EXPECT_EQ(a.used(0), 0u);
  EXPECT_FALSE(a.reserve(1, 1));
  a.release(99, 1);
  EXPECT_EQ(a.limit(99), 0u);
}

TEST(Limits, AFreedSlotNoLongerCounts) {
  const auto memory = make();
  const size_t slot = *memory->take_slot();
  SlotAccounting a(memory, slot, {kLimit});
  EXPECT_TRUE(a.reserve(0, kLimit));
  EXPECT_EQ(memory->slot(slot).peak.load(), kLimit);
  memory->free_slot(slot);
  EXPECT_EQ(memory->used(0), 0u);
  EXPECT_EQ(memory->take_slot(), slot);
  EXPECT_EQ(memory->slot(slot).peak.load(), 0u);
}

TEST(Limits, SlotsRunOut) {
  const auto memory = make();
  for (size_t i = 0; i < kMaxSessions; i++) EXPECT_TRUE(memory->take_slot());
  EXPECT_FALSE(memory->take_slot());
  EXPECT_FALSE(AllocationMemory::create(0));
  EXPECT_FALSE(AllocationMemory::create(kMaxGpus + 1));
}

TEST(Limits, HoldUnderThreadsAndProcesses) {
  const auto memory = make();
  const auto hammer = [&](size_t slot) {
    SlotAccounting mine(memory, slot, {kLimit});
    for (int i = 0; i < 20'000; i++) {
      if (!mine.reserve(0, 300)) continue;
      if (memory->used(0) > kLimit) ::_exit(1);
      mine.release(0, 300);
    }
  };
  const size_t slots[] = {*memory->take_slot(), *memory->take_slot(), *memory->take_slot(),
                          *memory->take_slot()};
  std::vector<pid_t> children;
  for (const size_t slot : slots) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      hammer(slot);
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(memory->used(0), 0u);
}

TEST(Limits, AProcessKilledAnywhereLocksNobodyOut) {
  const auto memory = make();
  SlotAccounting survivor(memory, *memory->take_slot(), {kLimit});
  for (int round = 0; round < 30; round++) {
    const size_t slot = *memory->take_slot();
    const pid_t pid = ::fork();
    if (pid == 0) {
      SlotAccounting mine(memory, slot, {kLimit});
      for (;;) {
        mine.reserve(0, 10);
        mine.release(0, 10);
      }
    }
    while (memory->slot(slot).peak.load() == 0) std::this_thread::yield();
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    memory->free_slot(slot);
    ASSERT_TRUE(survivor.reserve(0, kLimit));
    survivor.release(0, kLimit);
  }
}

}  // namespace
}  // namespace sluice::worker
