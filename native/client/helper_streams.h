// Streams that the client makes for its own work beside the program's.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "client/objects.h"

namespace sluice::client {

struct Session;

class HelperStreams {
 public:
  // A stream of the context, ordered with no other, that nobody else uses; null when it cannot be had.
  Stream* take(Session& session, Context* context);
  // What was put into it is done, or will be before anything that is put into it next.
  void give_back(Stream* stream);

 private:
  std::mutex mutex_;
  std::map<std::pair<Context*, uint32_t>, std::vector<Stream*>> idle_;  // by context and its epoch
};

}  // namespace sluice::client
