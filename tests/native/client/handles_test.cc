#include "client/handles.h"

#include <gtest/gtest.h>

#include <thread>

#include "client/objects.h"

namespace sluice::client {
namespace {

struct Thing : Object {
  int value = 0;
};

TEST(HandleTable, FindsWhatItMinted) {
  HandleTable<Thing> table(Kind::event);
  Thing* thing = nullptr;
  void* handle = table.mint(&thing);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(table.find(handle), thing);
  EXPECT_EQ(thing->index, 1u);  // 0 is no object on the wire
}

TEST(HandleTable, RefusesWhatIsNoHandle) {
  HandleTable<Thing> events(Kind::event);
  HandleTable<Thing> streams(Kind::stream);
  Thing* thing = nullptr;
  void* handle = events.mint(&thing);
  int local = 0;
  EXPECT_EQ(events.find(nullptr), nullptr);
  EXPECT_EQ(events.find(&local), nullptr);
  EXPECT_EQ(streams.find(handle), nullptr);
  EXPECT_EQ(events.find(static_cast<char*>(handle) + 1), nullptr);
  EXPECT_EQ(events.find(static_cast<char*>(handle) + 16), nullptr);
}

TEST(HandleTable, RefusesADeadHandleAfterItsIndexIsUsedAgain) {
  HandleTable<Thing> table(Kind::event);
  Thing* first = nullptr;
  void* dead = table.mint(&first);
  const uint32_t index = first->index;
  table.release(first);
  EXPECT_EQ(table.find(dead), nullptr);
  Thing* second = nullptr;
  void* alive = table.mint(&second);
  EXPECT_EQ(second->index, index);
  EXPECT_NE(alive, dead);
  EXPECT_EQ(table.find(dead), nullptr);
  EXPECT_EQ(table.find(alive), second);
}

TEST(HandleTable, MayBeUsedByManyThreads) {
  HandleTable<Thing> table(Kind::event);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&table, &wrong] {
      for (int i = 0; i < 20'000; i++) {
        Thing* thing = nullptr;
        void* handle = table.mint(&thing);
        if (table.find(handle) != thing) wrong++;
        if (i % 3 != 0) table.release(thing);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace sluice::client
