#include "client/peer_links.h"

#include "client/session.h"
#include "common/log.h"
#include "wire/stripes.h"

namespace sluice::client {
namespace {

// Tells both sessions to connect, the one that sends to the other. False when that does not work.
bool connect(Context& from, Context& to, uint32_t number, uint8_t index) {
  const auto& identity = to.channel->identity();
  if (!identity) return false;
  const crypto::Bytes32 key = wire::peer_key(identity->key, index);
  wire::DynamicFrame open(wire::ControlCall::peer_open, wire::kSync);
  open.arguments().put(number);
  open.arguments().put(index);
  open.arguments().put(uint8_t{to.channel->connection().encrypted()});
  open.arguments().bytes(key.data(), key.size());
  open.arguments().text(identity->session);
  open.arguments().text(identity->address);
  open.complete();
  if (from.channel->call(from.index, open.data(), open.size(), nullptr) != CUDA_SUCCESS) return false;
  wire::SyncFrame<5> accept(wire::ControlCall::peer_accept);
  accept.put(number);
  accept.put(index);
  return to.channel->call(to.index, accept.data(), accept.size(), nullptr) == CUDA_SUCCESS;
}

}  // namespace

PeerLink* PeerLinks::between(Session& session, Context* from, Context* to) {
  const std::lock_guard lock(mutex_);
  const Key key{from, from->epoch.load(), to, to->epoch.load()};
  const auto known = links_.find(key);
  if (known != links_.end()) return known->second.get();
  std::unique_ptr<PeerLink>& link = links_[key];
  uint8_t& used = used_[to->channel];
  if (used == wire::kPeers) return nullptr;
  const auto index = static_cast<uint8_t>(wire::kFirstPeer + used++);
  const uint32_t number = next_number_++;
  if (!connect(*from, *to, number, index)) {
    SLUICE_INFO("Two servers of this program do not reach each other: copies between them go through it.");
    return nullptr;
  }
  auto made = std::make_unique<PeerLink>();
  made->number = number;
  made->sends = session.helper_streams.take(session, from);
  made->receives = session.helper_streams.take(session, to);
  if (made->sends != nullptr && made->receives != nullptr) link = std::move(made);
  return link.get();
}

}  // namespace sluice::client
