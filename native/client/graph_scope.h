// The scope of calls about graphs: it holds the lock over the client's picture of them.
#pragma once

#include <mutex>

#include "client/graph_model.h"

namespace sluice::client {

struct GraphScope : Scope {
  std::unique_lock<std::recursive_mutex> lock;

  CUresult begin() {
    if (CUresult error = enter()) return error;
    lock = std::unique_lock(session->graph_mutex);
    return need_context();
  }
  // The object is found first: its context counts where none is current.
  template <typename Handle, typename Object>
  CUresult begin(Handle handle, Object** object) {
    if (CUresult error = enter()) return error;
    lock = std::unique_lock(session->graph_mutex);
    if (CUresult error = find(handle, object)) return error;
    return need_context();
  }
};

// Under the session's mutex of user objects: the last reference has the object destroyed.
void release_references(Session& session, UserObject& object, uint64_t count);

// Memory that a node of the graph allocates is device memory from here on.
void know_memory(Scope& scope, Graph& graph, CUdeviceptr address, size_t bytes);

// What the nodes of another graph keep is kept for a copy of it.
void keep_all(GraphKept& kept, const GraphKept& other);

}  // namespace sluice::client
