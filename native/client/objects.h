// What the client knows about the objects behind its handles.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/handles.h"
#include "client/jit_options.h"
#include "common/cuda_types.h"

namespace sluice::client {

class Channel;

struct Object {
  uint32_t index = 0;
  void* handle = nullptr;
};

// What was set on a stream, by attribute. The default stream's is the context's.
struct StreamAttributes {
  std::mutex mutex;
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> values;
};

struct Context : Object {
  int device = 0;
  Channel* channel = nullptr;
  bool primary = false;
  std::atomic<bool> active{false};
  std::atomic<uint32_t> epoch{1};         // grows when everything in the context dies
  std::atomic<int> sticky{CUDA_SUCCESS};  // the error that ended the context, as on hardware
  std::atomic<unsigned> flags{0};
  std::atomic<int> cache_config{CU_FUNC_CACHE_PREFER_NONE};
  std::atomic<int> shared_config{CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE};
  uint64_t id = 0;
  // The last host task that the default stream, and with it each blocking stream, is ordered after.
  std::atomic<uint64_t> after_task{0};
  // How many frames had been sent when all work was known to be done; see Scope::is_settled.
  std::atomic<uint64_t> settled_at{0};
  StreamAttributes attributes;
  std::atomic<bool> has_free_streams{
      false};  // work was put into streams that the default one does not wait for
};

// An object that dies with its context.
struct InContext : Object {
  Context* context = nullptr;
  uint32_t epoch = 0;
  bool alive() const { return context->epoch.load(std::memory_order_acquire) == epoch; }
  void belong_to(Context* owner) {
    context = owner;
    epoch = owner->epoch.load(std::memory_order_acquire);
  }
};

struct Stream : InContext {
  unsigned flags = 0;
  std::atomic<int> priority{0};
  StreamAttributes attributes;
  uint64_t id = 0;
  std::atomic<uint64_t> after_task{0};
};

struct Event : InContext {
  unsigned flags = 0;
  std::atomic<uint64_t> after_task{0};
};

struct KernelParameter {
  uint32_t offset;
  uint32_t size;
};

// A kernel of a loaded image.
struct KernelInfo {
  std::string name;
  uint32_t place = 0;  // in the image's table
  bool has_layout = false;
  std::vector<KernelParameter> parameters;
  uint32_t parameter_bytes = 0;
  std::array<int, CU_FUNC_ATTRIBUTE_MAX> attributes{};
};

// What came back with a load.
struct Image {
  bool listed = false;  // the driver could list the kernels; else each is asked for by name
  std::vector<KernelInfo> kernels;
  std::unordered_map<std::string, uint32_t> by_name;
};

struct Global {
  CUdeviceptr address;
  size_t bytes;
};

struct Library;

struct Module : InContext {
  std::shared_ptr<Image> image;
  Library* library = nullptr;  // when it is the library's module in this context
  std::mutex mutex;
  std::map<std::string, Global> globals;
  std::map<std::string, CUfunction> functions;
};

// What is needed to load a library again on another server. Empty in sessions with one server.
struct LibrarySource {
  std::vector<char> image;
  std::vector<std::pair<CUjit_option, void*>> options;  // those that change the code
};

struct Library : Object {
  Channel* channel = nullptr;
  LibrarySource source;
  std::shared_ptr<Image> image;
  std::mutex mutex;
  std::set<Channel*> elsewhere;  // servers beside the first that have it
  std::map<std::string, CUkernel> kernels;
  std::map<std::pair<Context*, uint32_t>, CUmodule> modules;  // by context and its epoch
  std::map<std::tuple<Context*, uint32_t, std::string>, Global> globals;
};

// Shape and parameters as the launch interface before CUDA 4 keeps them with a function.
struct OldLaunch {
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  size_t parameter_bytes = 0;
  std::vector<uint8_t> parameters;
};

// A CUfunction or a CUkernel; launches accept either.
struct Function : Object {
  bool is_kernel = false;
  Context* context = nullptr;  // null for kernels
  uint32_t epoch = 0;
  Module* module = nullptr;
  Library* library = nullptr;
  std::shared_ptr<Image> image;
  const KernelInfo* info = nullptr;
  std::array<std::atomic<int>, CU_FUNC_ATTRIBUTE_MAX> attributes{};
  std::mutex mutex;
  std::map<std::tuple<Context*, int, size_t, unsigned>, int> occupancy;  // by context, block, memory, flags
  std::map<std::pair<Context*, uint32_t>, CUfunction> functions;         // of a kernel, by context
  std::map<std::string, int> cluster_occupancy;                          // by the question as it is sent
  OldLaunch old_launch;
};

struct Pool : Object {
  int device = 0;
  bool is_default = false;
};

// A link, where its logs go, and what came out of it.
struct Link : InContext {
  JitOutputs outputs;
  std::vector<uint8_t> image;
};

// Physical memory of cuMemCreate. Lives until no reference and no mapping holds it.
struct PhysicalMemory : Object {
  int device = 0;
  uint64_t bytes = 0;
  CUmemAllocationProp properties{};
  unsigned references = 0;  // these two under the lock of VirtualMemory
  unsigned mappings = 0;
};

}  // namespace sluice::client
