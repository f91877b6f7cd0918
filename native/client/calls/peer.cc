// Access from one device to the memory of another. Devices of one server answer for themselves; between
// servers the answer is no, and copies go through the client.
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// What has been asked and what has been granted. Lives as long as the process, like the session.
struct Peers {
  std::mutex mutex;
  std::map<std::tuple<int, CUdevice, CUdevice>, int> answers;  // attribute (or -1), device, peer
  std::set<std::tuple<const Context*, uint32_t, const Context*, uint32_t>> enabled;  // with their epochs
};

Peers& peers() {
  static auto* instance = new Peers;
  return *instance;
}

constexpr int kCanAccess = -1;

CUresult find_pair(Session& session, CUdevice dev, CUdevice peer, Device** device, Device** other) {
  *device = session.device(dev);
  *other = session.device(peer);
  return *device != nullptr && *other != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// Asks the server of both once; the answer does not change.
template <typename Frame>
CUresult ask(Channel& channel, Frame& frame, std::tuple<int, CUdevice, CUdevice> question, int* out) {
  {
    const std::lock_guard lock(peers().mutex);
    const auto known = peers().answers.find(question);
    if (known != peers().answers.end()) {
      *out = known->second;
      return CUDA_SUCCESS;
    }
  }
  wire::FixedReply<4> reply;
  Reply answer{reply.data(), reply.capacity()};
  // No context is named: the question is about devices.
  if (CUresult error = channel.call(0, frame.data(), frame.size(), &answer)) return error;
  reply.received(answer.received);
  const int value = reply.template get<int32_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
  const std::lock_guard lock(peers().mutex);
  peers().answers[question] = value;
  *out = value;
  return CUDA_SUCCESS;
}

using Pair = std::tuple<const Context*, uint32_t, const Context*, uint32_t>;

CUresult find_peer(Scope& scope, CUcontext handle, Context** peer, Pair* pair) {
  if (CUresult error = scope.enter()) return error;
  *peer = scope.session->contexts.find(handle);
  if (*peer == nullptr || !(*peer)->active.load(std::memory_order_acquire)) return CUDA_ERROR_INVALID_CONTEXT;
  if (CUresult error = scope.need_context()) return error;
  *pair = {scope.context, scope.context->epoch.load(std::memory_order_acquire), *peer,
           (*peer)->epoch.load(std::memory_order_acquire)};
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = nullptr;
  Device* peer = nullptr;
  if (CUresult error = find_pair(*scope.session, dev, peerDev, &device, &peer)) return error;
  if (dev == peerDev || device->channel != peer->channel) {
    *canAccessPeer = 0;
    return CUDA_SUCCESS;
  }
  wire::SyncFrame<8> frame(CallId::cuDeviceCanAccessPeer);
  frame.put(int32_t{device->ordinal_there});
  frame.put(int32_t{peer->ordinal_there});
  return ask(*device->channel, frame, {kCanAccess, dev, peerDev}, canAccessPeer);
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = nullptr;
  Device* peer = nullptr;
  if (CUresult error = find_pair(*scope.session, srcDevice, dstDevice, &device, &peer)) return error;
  if (srcDevice == dstDevice) return CUDA_ERROR_INVALID_DEVICE;
  if (attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK) return CUDA_ERROR_INVALID_VALUE;
  if (device->channel != peer->channel) {
    *value = 0;
    return CUDA_SUCCESS;
  }
  wire::SyncFrame<12> frame(CallId::cuDeviceGetP2PAttribute);
  frame.put(static_cast<int32_t>(attrib));
  frame.put(int32_t{device->ordinal_there});
  frame.put(int32_t{peer->ordinal_there});
  return ask(*device->channel, frame, {static_cast<int>(attrib), srcDevice, dstDevice}, value);
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Context* peer = nullptr;
  Pair pair;
  if (CUresult error = find_peer(scope, peerContext, &peer, &pair)) return error;
  int can = 0;
  if (CUresult error = cuDeviceCanAccessPeer(&can, scope.context->device, peer->device)) return error;
  if (can == 0) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const std::lock_guard lock(peers().mutex);
  if (peers().enabled.contains(pair)) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  wire::AsyncFrame<8> frame(CallId::cuCtxEnablePeerAccess);
  frame.put(peer->index);
  frame.put(uint32_t{Flags});
  if (CUresult error = scope.post(frame)) return error;
  peers().enabled.insert(pair);
  return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  Scope scope;
  Context* peer = nullptr;
  Pair pair;
  if (CUresult error = find_peer(scope, peerContext, &peer, &pair)) return error;
  const std::lock_guard lock(peers().mutex);
  if (peers().enabled.erase(pair) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  wire::AsyncFrame<4> frame(CallId::cuCtxDisablePeerAccess);
  frame.put(peer->index);
  return scope.post(frame);
}

}  // namespace sluice::client::calls
