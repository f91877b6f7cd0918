// Frames: what travels after the hello. protocol/wire-format.md describes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "wire/codec.h"

namespace sluice::wire {

// Client to worker.
struct RequestHeader {
  uint32_t length;  // bytes after the header
  uint16_t call;    // a driver function's id or ControlCall
  uint16_t flags;
};
static_assert(sizeof(RequestHeader) == 8);

// A u32 sequence number follows the header, and an answer is expected.
constexpr uint16_t kSync = 1;
// The arguments are followed by bulk data: u32 bytes of arguments, the arguments, the data.
constexpr uint16_t kBulk = 2;
// The arguments are in their long form (launches: all dimensions as 32-bit numbers).
constexpr uint16_t kWide = 4;
// The arguments are in their short form (launches: a stream's index in 16 bits, the block's z in 8).
constexpr uint16_t kShort = 8;
// With kBulk, and in answers: the data comes over the session's further connections (wire/stripes.h). A u64
// with its size precedes the arguments, or stands in its place in an answer.
constexpr uint16_t kStriped = 16;

// Frames of the runtime itself, beside those of driver functions.
enum class ControlCall : uint16_t {
  set_context = 0xf000,        // u32 context: the calls that follow are made in it
  host_task_done = 0xf001,     // u32 task [bulk: data that it was asked for]
  bind_default_pool = 0xf002,  // i32 device, u32 pool: the handle stands for the device's own pool
  host_copy = 0xf004,          // u32 task, u64 device address, u64 bytes, u32 stream: copied once the
                               // stream has come here and the client has sent the bytes
  keepalive = 0xf0ff,          // nothing: the client is still there
  peer_open = 0xf011,          // of worker/calls/peer_link.h, as the three that follow
  peer_accept = 0xf012,
  peer_send = 0xf013,
  peer_receive = 0xf014,
  stripes = 0xf010,       // u32 connections that the client has opened: u32 how many are used, all or none
  graph_bind = 0xf020,    // u32 graph [bulk: u32 node, …]: handles for the nodes as last described
  graph_child = 0xf021,   // u32 graph, u32 node: the handle stands for the node's own graph
  capture_node = 0xf022,  // u32 stream, a node that the client serves, in a stream that is captured
  invalidate_capture = 0xf023,  // u32 stream: the program did what a capture does not survive
  share_host = 0xf030,          // u64 bytes: host memory of the worker that its GPUs see; answers u64 address
  unshare_host = 0xf031,        // u64 address
  write_shared = 0xf032,        // u64 address [bulk: what the program wrote there]
  fetch_shared = 0xf033,  // u32 count, {u64 address, u64 bytes}: answers u8 idle, then for each piece that
                          // the client does not have as it is now u64 address, u32 bytes, data
};

// Worker to client.
struct ResponseHeader {
  uint32_t length;
  uint16_t kind;  // ResponseKind
  uint16_t flags;
};
static_assert(sizeof(ResponseHeader) == 8);

enum class ResponseKind : uint16_t {
  reply = 1,       // u32 sequence, i32 result, data
  download = 2,    // u32 download, u64 offset, data: bytes of an asynchronous copy to the host
  host_task = 3,   // u32 task: a stream has reached a task that the client has to do
  goodbye = 4,     // text: the session ends, and why
  graph_task = 5,  // u32 run, u32 task: a launch has reached a node that the client has to serve; answered by
                   // host_task_done with the run
  keepalive = 0xff,  // nothing: the worker is still there
};

// Downloads of graphs have the task's number with this bit, and come again with each launch.
constexpr uint32_t kGraphDownload = 1u << 31;
// Numbers of runs of graph tasks, which the worker gives, are above those of the client's host tasks.
constexpr uint32_t kFirstRun = 1u << 31;

// Caps, kept by the side that reads.
constexpr uint32_t kMaxArguments = 192u
                                   << 10;  // arguments of one call: a kernel's parameters are at most 32 KiB
constexpr uint32_t kMaxBulk = 1u << 30;    // data of one frame; longer copies are cut by the client
constexpr uint32_t kMaxReplyTable = 64u << 20;  // tables of kernels; a library of 100,000 stays well below
constexpr uint32_t kMaxBoxPiece = 1u << 20;     // data of one frame of a copy of several dimensions
constexpr uint32_t kMaxGoodbye = 4096;
constexpr uint32_t kSharedPage = 4096;           // what shared memory is compared and sent in
constexpr uint32_t kMaxSharedWrite = 1u << 20;   // data of one write to shared memory
constexpr uint32_t kMaxSharedFetch = 16u << 20;  // asked for at once, all pieces together
constexpr uint32_t kMaxHandles = 1u << 24;       // live objects of one kind

// How the bytes of a copy of several dimensions travel (cuMemcpy3DAsync in wire-format.md).
enum class BoxDirection : uint8_t {
  within = 0,     // not at all: both ends are the worker's
  to_device = 1,  // with the frame
  to_host = 2,    // as downloads, when the stream has come to the copy
  late = 3,       // to the device, sent by the client when the stream has come to the copy
};
enum class BoxEnd : uint8_t { host = 0, linear = 1, array = 2 };

// A frame of known size, built on the stack. `kPayload` counts the arguments only.
template <size_t kPayload, bool kIsSync>
class Frame {
 public:
  // `Call` is ControlCall or generated::CallId.
  template <typename Call>
  explicit Frame(Call call, uint16_t flags = 0) : size_(kPrefix) {
    static_assert(std::is_same_v<std::underlying_type_t<Call>, uint16_t>);
    const RequestHeader header{static_cast<uint32_t>(kPrefix - sizeof(RequestHeader) + kPayload),
                               static_cast<uint16_t>(call),
                               static_cast<uint16_t>(flags | (kIsSync ? kSync : 0))};
    std::memcpy(bytes_.data(), &header, sizeof header);
  }

  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    std::memcpy(bytes_.data() + size_, &value, sizeof value);
    size_ += sizeof value;
  }

  const uint8_t* data() const { return bytes_.data(); }
  uint8_t* data() { return bytes_.data(); }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kPrefix = sizeof(RequestHeader) + (kIsSync ? sizeof(uint32_t) : 0);

  std::array<uint8_t, kPrefix + kPayload> bytes_;
  size_t size_;
};

template <size_t kPayload>
using AsyncFrame = Frame<kPayload, false>;
// The channel writes the sequence number, which lies right after the header.
template <size_t kPayload>
using SyncFrame = Frame<kPayload, true>;

// A frame whose size is known when it is complete. `bulk_bytes` of data follow it on the wire.
class DynamicFrame {
 public:
  template <typename Call>
  explicit DynamicFrame(Call call, uint16_t flags = 0) : DynamicFrame(static_cast<uint16_t>(call), flags) {
    static_assert(std::is_same_v<std::underlying_type_t<Call>, uint16_t>);
  }

  Writer& arguments() { return writer_; }
  // Writes the lengths; call once, last.
  void complete(uint64_t bulk_bytes = 0);

  const uint8_t* data() const { return writer_.data(); }
  uint8_t* data() { return writer_.data(); }
  size_t size() const { return writer_.size(); }

 private:
  explicit DynamicFrame(uint16_t call, uint16_t flags);

  uint16_t flags_;
  size_t prefix_;
  Writer writer_;
};

// Where the answer to a call of known size lands.
template <size_t kBytes>
class FixedReply {
 public:
  uint8_t* data() { return bytes_.data(); }
  static constexpr size_t capacity() { return kBytes; }
  void received(size_t size) { reader_ = Reader(bytes_.data(), size); }
  template <typename T>
  T get() {
    return reader_.get<T>();
  }
  bool complete() const { return reader_.finished(); }

 private:
  std::array<uint8_t, kBytes> bytes_{};
  Reader reader_;
};

}  // namespace sluice::wire
