// Reading requests: from the connection, or from what was kept while host tasks were settled.
#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

// What a client may send while a stream waits for it: more, and it is not telling what is wanted.
constexpr size_t kMostKept = size_t{2} << 30;

}  // namespace

bool Session::read_header(wire::RequestHeader* header) {
  const uint8_t* bytes =
      kept_.empty() ? input_.take(sizeof *header, /*poll=*/true) : read_bytes(sizeof *header);
  if (bytes != nullptr) std::memcpy(header, bytes, sizeof *header);
  return bytes != nullptr;
}

const uint8_t* Session::read_bytes(size_t size) {
  if (kept_.empty()) return input_.take(size);
  if (size > kept_.size() - kept_at_) return nullptr;
  // Copied, because settling tasks again would move what is kept.
  kept_frame_.assign(kept_.begin() + static_cast<ptrdiff_t>(kept_at_),
                     kept_.begin() + static_cast<ptrdiff_t>(kept_at_ + size));
  kept_at_ += size;
  kept_frame_.reserve(1);  // so that no bytes are not taken for the end
  if (kept_at_ == kept_.size()) {
    kept_.clear();
    kept_at_ = 0;
  }
  return kept_frame_.data();
}

bool Session::read_into(void* into, size_t size) {
  if (kept_.empty()) return input_.read(into, size);
  if (size > kept_.size() - kept_at_) return false;
  std::memcpy(into, kept_.data() + kept_at_, size);
  kept_at_ += size;
  if (kept_at_ == kept_.size()) {
    kept_.clear();
    kept_at_ = 0;
  }
  return true;
}

bool Session::read_bulk(Request& request, void* into, size_t size) {
  if (size > request.bulk_bytes) {
    bad_frame(request);
    return false;
  }
  request.bulk_bytes -= size;
  if (request.striped ? stripes_.read(into, size, &stripe_poll_) : read_into(into, size)) return true;
  broken_ = true;
  return false;
}

bool Session::skip_bulk(Request& request) {
  uint8_t nowhere[16u << 10];
  while (!broken_ && request.bulk_bytes > 0) {
    if (!read_bulk(request, nowhere, std::min<uint64_t>(request.bulk_bytes, sizeof nowhere))) return false;
  }
  return !broken_;
}

bool Session::serve_at_once(const wire::RequestHeader& header) {
  constexpr uint32_t kMost = wire::kMaxSharedWrite + wire::kMaxArguments;
  if (header.length > kMost) {
    broken_ = true;
    return false;
  }
  std::vector<uint8_t> frame(sizeof header + header.length);
  std::memcpy(frame.data(), &header, sizeof header);
  if (!input_.read(frame.data() + sizeof header, header.length)) {
    broken_ = true;
    return false;
  }
  frame.swap(kept_);
  const size_t at = std::exchange(kept_at_, 0);
  const bool served = serve_one();
  frame.swap(kept_);
  kept_at_ = at;
  return served;
}

void Session::settle_host_tasks() {
  while (host_tasks.outstanding() && !broken_) {
    const uint8_t* bytes = input_.take(sizeof(wire::RequestHeader));
    if (bytes == nullptr) {
      host_tasks.abandon();
      return;
    }
    wire::RequestHeader header;
    std::memcpy(&header, bytes, sizeof header);
    if (header.call == static_cast<uint16_t>(wire::ControlCall::host_task_done)) {
      Request request;
      request.flags = header.flags;
      uint32_t words[2] = {};
      const size_t fixed = (header.flags & wire::kBulk) != 0 ? 2 * sizeof(uint32_t) : sizeof(uint32_t);
      if (header.length < fixed || !input_.read(words, fixed)) {
        bad_frame(request);
        return;
      }
      request.bulk_bytes = header.length - fixed;
      const uint32_t number = fixed == sizeof words ? words[1] : words[0];
      const auto task = host_tasks.find(number);
      if (!task || request.bulk_bytes != task->bytes ||
          (task->bytes > 0 && !input_.read(task->target, task->bytes))) {
        bad_frame(request);
        return;
      }
      host_tasks.finish(*task);
      continue;
    }
    if (header.call == static_cast<uint16_t>(wire::ControlCall::fetch_shared) ||
        header.call == static_cast<uint16_t>(wire::ControlCall::write_shared)) {
      // What the client does for the stream may need the memory that both see.
      if (!serve_at_once(header)) return;
      continue;
    }
    const size_t at = kept_.size();
    if (at + header.length > kMostKept) {
      broken_ = true;
      return;
    }
    kept_.resize(at + sizeof header + header.length);
    std::memcpy(kept_.data() + at, &header, sizeof header);
    if (!input_.read(kept_.data() + at + sizeof header, header.length)) {
      broken_ = true;
      return;
    }
  }
}

}  // namespace sluice::worker
