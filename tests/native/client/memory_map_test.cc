#include "client/memory_map.h"

#include <gtest/gtest.h>

namespace sluice::client {
namespace {

DeviceRange range(CUdeviceptr base, size_t bytes, Context* context = nullptr) {
  return {base, bytes, context, nullptr, 1};
}

TEST(MemoryMap, FindsTheRangeThatHoldsAnAddress) {
  MemoryMap map;
  map.add_device(range(0x1000, 0x100));
  map.add_device(range(0x2000, 0x100));
  EXPECT_FALSE(map.device_range(0xfff));
  EXPECT_EQ(map.device_range(0x1000)->base, 0x1000u);
  EXPECT_EQ(map.device_range(0x10ff)->base, 0x1000u);
  EXPECT_FALSE(map.device_range(0x1100));
  EXPECT_EQ(map.device_range(0x2001)->base, 0x2000u);
}

TEST(MemoryMap, RemovesOnlyWhatStartsThere) {
  MemoryMap map;
  map.add_device(range(0x1000, 0x100));
  EXPECT_FALSE(map.remove_device(0x1001));
  EXPECT_TRUE(map.remove_device(0x1000));
  EXPECT_FALSE(map.remove_device(0x1000));
}

TEST(MemoryMap, ForgetsWhatDiesWithAContext) {
  MemoryMap map;
  Context dying;
  Context living;
  map.add_device(range(0x1000, 0x100, &dying));
  map.add_device(range(0x2000, 0x100, &living));
  map.remove_context(&dying);
  EXPECT_FALSE(map.device_range(0x1000));
  EXPECT_TRUE(map.device_range(0x2000));
}

TEST(MemoryMap, RefusesHostMemoryThatIsThereAlready) {
  MemoryMap map;
  ASSERT_TRUE(map.add_host({0x5000, 0x1000, 0, nullptr, true, 1}));
  EXPECT_FALSE(map.add_host({0x5000, 0x1000, 0, nullptr, true, 2}));
  EXPECT_FALSE(map.add_host({0x5800, 0x10, 0, nullptr, true, 2}));
  EXPECT_FALSE(map.add_host({0x4800, 0x1000, 0, nullptr, true, 2}));
  EXPECT_TRUE(map.add_host({0x6000, 0x1000, 0, nullptr, true, 2}));
  EXPECT_TRUE(map.add_host({0x4000, 0x1000, 0, nullptr, false, 3}));
}

TEST(MemoryMap, TellsRegisteredFromAllocatedHostMemory) {
  MemoryMap map;
  map.add_host({0x5000, 0x1000, 0, nullptr, true, 1});
  EXPECT_FALSE(map.remove_host(reinterpret_cast<void*>(0x5000), false));
  EXPECT_TRUE(map.remove_host(reinterpret_cast<void*>(0x5000), true));
}

}  // namespace
}  // namespace sluice::client
