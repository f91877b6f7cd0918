// Work that spans two servers: a stream of one that waits for a stream of the other, and copies from a GPU
// of one to a GPU of the other.
#pragma once

#include "client/scope.h"

namespace sluice::client {

// A place in the order of some work: the context and, unless it is the default one, the stream.
struct StreamPlace {
  Context* context = nullptr;
  Stream* stream = nullptr;
  uint32_t stream_index() const { return stream ? stream->index : 0; }
};

// What comes later in `later` waits for what is in `earlier` so far. Nothing waits in the client. The errors
// are those of the connections.
CUresult wait_for_stream(Session& session, const StreamPlace& earlier, const StreamPlace& later);

// cuStreamWaitEvent for an event of another server.
CUresult wait_for_event_elsewhere(Session& session, const Event& event, const StreamPlace& later,
                                  unsigned flags);

// Copies device memory of one server to device memory of another, in the order of `stream`, which may
// belong to either or to a third. Returns when the copy is under way. The bytes go from server to server
// where these reach each other, else through the client in pieces, of which several are under way at once.
CUresult copy_between_servers(Session& session, CUdeviceptr dst, Context* dst_context, CUdeviceptr src,
                              Context* src_context, size_t bytes, const StreamPlace& stream);

}  // namespace sluice::client
