// Connections between the sessions of two servers, over which copies go without the client.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "client/objects.h"

namespace sluice::client {

struct Session;

struct PeerLink {
  uint32_t number = 0;
  Stream* sends = nullptr;     // of the context that the bytes come from
  Stream* receives = nullptr;  // of the context that they go to
  std::mutex order;            // both sides hear of copies in the same order
};

class PeerLinks {
 public:
  // The link from one context to the other, made when it is first asked for; null when their servers do not
  // reach each other, which is tried once.
  PeerLink* between(Session& session, Context* from, Context* to);

 private:
  using Key = std::tuple<Context*, uint32_t, Context*, uint32_t>;  // contexts with their epochs
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<PeerLink>> links_;  // null: tried in vain
  std::map<Channel*, uint8_t> used_;                // how many connections a session has been told of
  uint32_t next_number_ = 1;
};

}  // namespace sluice::client
