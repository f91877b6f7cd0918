// Large data over several connections; see wire/stripes.h.
#include <unistd.h>

#include <cstring>

#include "client/channel.h"
#include "common/log.h"

namespace sluice::client {
namespace {

// From here on, opening connections costs less than what they save.
constexpr size_t kWorthwhile = 4u << 20;

}  // namespace

void Channel::want_stripes(size_t bytes) {
  if (bytes < kWorthwhile || !open_stripe_) return;
  std::call_once(stripes_tried_, [this] {
    std::vector<std::unique_ptr<wire::Connection>> connections;
    for (uint8_t index = 0; index < wire::kStripes; index++) {
      auto connection = open_stripe_(index);
      if (!connection) return;
      connections.push_back(std::move(connection));
    }
    wire::SyncFrame<4> frame(wire::ControlCall::stripes);
    frame.put(static_cast<uint32_t>(connections.size()));
    stripes_.set(std::move(connections));
    wire::FixedReply<4> answer;
    Reply reply{answer.data(), answer.capacity()};
    if (call(0, frame.data(), frame.size(), &reply) != CUDA_SUCCESS) return;
    answer.received(reply.received);
    if (answer.get<uint32_t>() == wire::kStripes) {
      stripes_.use();
    } else {
      SLUICE_INFO("%s takes no further connections for data.", server_.c_str());
    }
  });
}

bool Channel::announce_striped(const uint8_t* frame, size_t size, size_t bulk_bytes,
                               std::vector<uint8_t>* out) const {
  if (bulk_bytes < wire::kLeastStriped || !stripes_.in_use()) return false;
  wire::RequestHeader header;
  std::memcpy(&header, frame, sizeof header);
  // Asked for by a stream while other data may be under way: it has to come before that.
  if (header.call == static_cast<uint16_t>(wire::ControlCall::host_task_done)) return false;
  const size_t prefix =
      sizeof header + sizeof(uint32_t) + ((header.flags & wire::kSync) != 0 ? sizeof(uint32_t) : 0);
  const uint64_t data = bulk_bytes;
  header.flags |= wire::kStriped;
  header.length = static_cast<uint32_t>(size - sizeof header + sizeof data);
  out->resize(size + sizeof data);
  std::memcpy(out->data(), &header, sizeof header);
  std::memcpy(out->data() + sizeof header, frame + sizeof header, prefix - sizeof header);
  std::memcpy(out->data() + prefix, &data, sizeof data);
  std::memcpy(out->data() + prefix + sizeof data, frame + prefix, size - prefix);
  return true;
}

bool Channel::data_size(uint32_t left, bool striped, size_t* size) {
  *size = left;
  if (!striped) return true;
  const uint8_t* bytes = left == sizeof(uint64_t) ? input_.take(sizeof(uint64_t)) : nullptr;
  if (bytes == nullptr) return false;
  *size = wire::Reader(bytes, sizeof(uint64_t)).get<uint64_t>();
  return true;
}

bool Channel::receive_data(void* into, size_t size, bool striped) {
  return striped ? stripes_.read(into, size, &stripe_poll_) : input_.read(into, size);
}

void Channel::close_in_child() {
  ::close(connection_->fd());
  stripes_.close_in_child();
}

}  // namespace sluice::client
