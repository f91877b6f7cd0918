#include "wire/frame_input.h"

#include <algorithm>
#include <cstring>

namespace sluice::wire {

namespace {

// Holds hundreds of launches; more would only be copied once more when bulk data follows.
constexpr size_t kReadAhead = 32u << 10;

}  // namespace

FrameInput::FrameInput(Connection& connection) : connection_(connection), buffer_(new uint8_t[kCapacity]) {}

const uint8_t* FrameInput::take(size_t size, bool poll) {
  if (size > kCapacity) return nullptr;
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ + size > kCapacity) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < size) {
    const size_t wanted = std::max(kReadAhead, size - (end_ - begin_));
    const ssize_t got = connection_.read_some(buffer_.get() + end_, std::min(wanted, kCapacity - end_),
                                              poll ? &poll_ : nullptr);
    if (got <= 0) return nullptr;
    end_ += static_cast<size_t>(got);
  }
  const uint8_t* at = buffer_.get() + begin_;
  begin_ += size;
  return at;
}

bool FrameInput::read(void* into, size_t size) {
  const size_t held = std::min(size, end_ - begin_);
  std::memcpy(into, buffer_.get() + begin_, held);
  begin_ += held;
  return held == size || connection_.read_exact(static_cast<uint8_t*>(into) + held, size - held, &bulk_poll_);
}

}  // namespace sluice::wire
