// Buffered reading of frames from a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wire/adaptive_poll.h"
#include "wire/connection.h"

namespace sluice::wire {

// Small frames are taken from a buffer that one system call fills with many; bulk data goes
// straight to where it is wanted, apart from what the buffer already holds. One thread at a time.
class FrameInput {
 public:
  explicit FrameInput(Connection& connection);

  // The next `size` bytes, which stay valid until the next call; at most kCapacity. Null at the end. With
  // `poll` they are expected soon: it polls for a while before it sleeps, as far as that pays.
  const uint8_t* take(size_t size, bool poll = false);
  // Reads exactly `size` bytes into memory of the caller.
  bool read(void* into, size_t size);
  // Whether bytes lie in the buffer already.
  bool buffered() const { return end_ > begin_; }

  static constexpr size_t kCapacity = 256u << 10;

 private:
  Connection& connection_;
  AdaptivePoll poll_;
  // Gaps in bulk data are another matter than those between frames. Each one that is slept through would
  // cost the sender a wake-up.
  AdaptivePoll bulk_poll_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace sluice::wire
