// The one session state of the process: connections, devices, objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/address_claims.h"
#include "client/array_objects.h"
#include "client/captures.h"
#include "client/channel.h"
#include "client/graph.h"
#include "client/helper_streams.h"
#include "client/host_tasks.h"
#include "client/memory_map.h"
#include "client/objects.h"
#include "client/peer_links.h"
#include "client/virtual_memory.h"

namespace sluice::client {

// A granted device, from the snapshot in the welcome.
struct Device {
  Channel* channel = nullptr;
  int ordinal_there = 0;  // in its server's session
  CUuuid uuid{};
  std::string name;
  uint64_t total_bytes = 0;
  std::array<int, CU_DEVICE_ATTRIBUTE_MAX> attributes{};
  std::array<bool, CU_DEVICE_ATTRIBUTE_MAX> has_attribute{};
  int greatest_priority = 0;  // of streams; the least is 0
  Context* primary = nullptr;
  std::mutex mutex;  // guards the rest
  unsigned primary_references = 0;
  unsigned primary_flags = 0;
  CUmemoryPool default_pool = nullptr;
  CUmemoryPool current_pool = nullptr;
  MemoryRoom room;
  uint64_t granularities[2] = {};  // of physical memory: minimum, recommended; 0 until asked for
};

struct Session {
  int driver_version = 0;
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<Device>> devices;
  MemoryMap memory;
  AddressClaims addresses;
  VirtualMemory virtual_memory;
  HostTasks tasks;
  HelperStreams helper_streams;
  Captures captures;
  std::mutex user_object_mutex;      // guards the counts of references
  std::recursive_mutex graph_mutex;  // guards what graphs hold; callers that share one order their calls
  PeerLinks peer_links;

  HandleTable<Context> contexts{Kind::context};
  HandleTable<Stream> streams{Kind::stream};
  HandleTable<Event> events{Kind::event};
  HandleTable<Module> modules{Kind::module};
  HandleTable<Library> libraries{Kind::library};
  HandleTable<Function> functions{Kind::function};
  HandleTable<Pool> pools{Kind::pool};
  HandleTable<Graph> graphs{Kind::graph};
  HandleTable<GraphNode> graph_nodes{Kind::graph_node};
  HandleTable<GraphExec> graph_execs{Kind::graph_exec};
  HandleTable<UserObject> user_objects{Kind::user_object};
  HandleTable<Array> arrays{Kind::array};
  HandleTable<MipmappedArray> mipmapped_arrays{Kind::mipmapped_array};
  HandleTable<TextureReference> texture_references{Kind::texture_reference};
  HandleTable<SurfaceReference> surface_references{Kind::surface_reference};
  TextureObjects textures;
  TextureObjects surfaces;
  HandleTable<PhysicalMemory> physical_memory{Kind::memory_handle};
  HandleTable<Link> links{Kind::link};
  std::atomic<uint64_t> next_id{1};

  Device* device(int ordinal) {
    return ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size()
               ? devices[static_cast<size_t>(ordinal)].get()
               : nullptr;
  }
};

// Connects to the granted servers unless that was done. CUDA_ERROR_NO_DEVICE, and once a sentence on
// stderr, when there is no grant or it does not work; CUDA_ERROR_NOT_INITIALIZED in the child of a fork.
CUresult connect_session(Session** session);

// cuInit.
CUresult initialize();

// The session after cuInit, or the error that a call then gives.
CUresult current_session(Session** session);

}  // namespace sluice::client
