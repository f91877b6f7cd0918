// Memory of objects that are made and freed by the hundred thousand a second, by different threads: taken
// from a list of freed ones. The allocator would give it back to the system and fault it in again.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace sluice::softgpu {

// Derive from it: `class X : public Recycled<X>`. Not for classes that others derive from.
template <typename T>
class Recycled {
 public:
  static void* operator new(size_t bytes) {
    List& list = freed();
    const Hold hold(list);
    Node* node = list.first;
    if (node == nullptr) return ::operator new(bytes);
    list.first = node->next;
    list.count--;
    return node;
  }

  static void operator delete(void* memory) {
    List& list = freed();
    {
      const Hold hold(list);
      if (list.count < kMost) {
        list.first = new (memory) Node{list.first};
        list.count++;
        return;
      }
    }
    ::operator delete(memory);
  }

 private:
  static constexpr size_t kMost = 16384;  // a full queue of a stream

  struct Node {
    Node* next;
  };
  struct List {
    std::atomic_flag held;
    Node* first = nullptr;
    size_t count = 0;
  };
  // Held for a few instructions only.
  class Hold {
   public:
    explicit Hold(List& list) : list_(list) {
      // Yields, because whoever holds it may be waiting for this core.
      while (list_.held.test_and_set(std::memory_order_acquire)) ::sched_yield();
    }
    ~Hold() { list_.held.clear(std::memory_order_release); }

   private:
    List& list_;
  };

  static List& freed() {
    static auto* list = new List;  // outlives the threads that free
    return *list;
  }
};

}  // namespace sluice::softgpu
