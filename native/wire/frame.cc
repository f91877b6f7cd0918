#include "wire/frame.h"

namespace sluice::wire {

DynamicFrame::DynamicFrame(uint16_t call, uint16_t flags)
    : flags_(flags),
      prefix_(sizeof(RequestHeader) + (flags & kSync ? sizeof(uint32_t) : 0) +
              (flags & kBulk ? sizeof(uint32_t) : 0)) {
  const RequestHeader header{0, call, flags};
  writer_.bytes(&header, sizeof header);
  while (writer_.size() < prefix_) writer_.put(uint32_t{0});
}

void DynamicFrame::complete(uint64_t bulk_bytes) {
  const auto length = static_cast<uint32_t>(writer_.size() - sizeof(RequestHeader) + bulk_bytes);
  std::memcpy(writer_.data(), &length, sizeof length);
  if (flags_ & kBulk) {
    const auto arguments = static_cast<uint32_t>(writer_.size() - prefix_);
    std::memcpy(writer_.data() + prefix_ - sizeof arguments, &arguments, sizeof arguments);
  }
}

}  // namespace sluice::wire
