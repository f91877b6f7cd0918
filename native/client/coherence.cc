#include "client/coherence.h"

#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string_view>

#include "client/stats.h"
#include "client/threads.h"
#include "client/word_merge.h"
#include "common/log.h"
#include "generated/call_ids.h"
#include "wire/frame.h"

namespace sluice::client {
namespace {

// How often mapped memory is looked at while work is outstanding: a program may poll a flag in it.
constexpr std::chrono::microseconds kFirstRefresh{500};
constexpr std::chrono::milliseconds kSlowestRefresh{8};

enum class Effect : uint8_t { none, work, wait, copy_to_host };

// What a call means for memory, by its name: whether the worker's GPUs may touch memory by it, or whether it
// waits for such work.
Effect effect_of(std::string_view name) {
  for (const std::string_view waits : {
           "cuCtxSynchronize",
           "cuStreamSynchronize",
           "cuEventSynchronize",
           "cuStreamQuery",
           "cuEventQuery",
       }) {
    if (name == waits) return Effect::wait;
  }
  if (name == "cuMemcpyDtoH_v2") return Effect::copy_to_host;
  if (name == "cuLaunchHostFunc") return Effect::none;
  for (const std::string_view works : {"cuLaunch", "cuMemcpy", "cuMemset", "cuGraphLaunch", "cuStreamWrite",
                                       "cuStreamWait", "cuStreamBatch"}) {
    if (name.starts_with(works)) return name == "cuStreamWaitEvent" ? Effect::none : Effect::work;
  }
  return Effect::none;
}

Effect effect_of_call(uint16_t call) {
  static const auto effects = [] {
    std::array<Effect, generated::kCallIdEnd> table{};
    for (uint16_t id = 0; id < generated::kCallIdEnd; id++) table[id] = effect_of(generated::call_name(id));
    return table;
  }();
  if (call < generated::kCallIdEnd) return effects[call];
  // After the program's function has run the stream goes on.
  return call == static_cast<uint16_t>(wire::ControlCall::host_task_done) ||
                 call == static_cast<uint16_t>(wire::ControlCall::host_copy)
             ? Effect::work
             : Effect::none;
}

Effect effect_of_frame(const uint8_t* frame) {
  wire::RequestHeader header;
  std::memcpy(&header, frame, sizeof header);
  return effect_of_call(header.call);
}

}  // namespace

std::atomic<bool> Coherence::active_{false};

Coherence& Coherence::instance() {
  static auto* coherence = new Coherence;  // used until the process ends
  return *coherence;
}

void Coherence::before_frame(Channel& channel, const uint8_t* frame) {
  const Effect effect = effect_of_frame(frame);
  if (effect == Effect::work) note_work();
  if (effect == Effect::work || effect == Effect::copy_to_host) send_host_changes(channel);
}

// Noted again: what was learnt between the first note and the sending knows nothing of this work.
void Coherence::after_sending(const uint8_t* frame) {
  if (effect_of_frame(frame) != Effect::work) return;
  note_work();
  if (mapped_.load() > 0) refresh_.notify_one();
}

void Coherence::note_work() {
  work_.fetch_add(1);
  device_has_written_.store(true);
}

void Coherence::after_frame(Channel& channel, const uint8_t* frame, CUresult result) {
  if (result != CUDA_SUCCESS) return;
  const Effect effect = effect_of_frame(frame);
  if (effect == Effect::wait || effect == Effect::copy_to_host) after_wait(channel);
}

bool Coherence::add(SharedRange range, bool holds_data) {
  void* base = ::mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  range.base = static_cast<uint8_t*>(base);
  range.always = range.always || range.mapped;
  const std::lock_guard lock(mutex_);
  ranges_[range.host] = range;
  by_device_[range.device] = range.host;
  if (range.always) always_.fetch_add(1);
  host_has_written_.store(true);
  if (range.mapped && mapped_.fetch_add(1) == 0 && !refreshing_) {
    refreshing_ = start_thread([this] { refresh(); });
  }
  active_.store(true);
  if (holds_data) send_changes(range);
  return true;
}

std::optional<SharedRange> Coherence::remove(uintptr_t host) {
  const std::lock_guard lock(mutex_);
  const auto at = ranges_.find(host);
  if (at == ranges_.end()) return std::nullopt;
  SharedRange range = at->second;
  if (range.always) always_.fetch_sub(1);
  if (range.mapped) mapped_.fetch_sub(1);
  by_device_.erase(range.device);
  ranges_.erase(at);
  ::munmap(range.base, range.bytes);
  range.base = nullptr;
  if (ranges_.empty()) active_.store(false);
  return range;
}

std::optional<SharedRange> Coherence::find(const void* host) {
  const auto address = reinterpret_cast<uintptr_t>(host);
  const std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  const SharedRange& range = std::prev(after)->second;
  return address - range.host < range.bytes ? std::optional(range) : std::nullopt;
}

bool Coherence::attach(uintptr_t host, bool global) {
  const std::lock_guard lock(mutex_);
  const auto at = ranges_.find(host);
  if (at == ranges_.end() || at->second.mapped) return false;
  // The program may touch what no other stream uses while those streams work.
  if (at->second.always == global) always_.fetch_add(global ? -1 : 1);
  at->second.always = !global;
  host_has_written_.store(true);
  return true;
}

void Coherence::before_host_function(Channel& channel) { after_wait(channel); }

void Coherence::send_host_changes(Channel& channel) {
  if (!host_has_written_.load() && always_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  const bool all = host_has_written_.exchange(false);
  for (const auto& [host, range] : ranges_) {
    // A range of another server is sent with that server's next work.
    if (range.channel != &channel) {
      if (all) host_has_written_.store(true);
    } else if (all || range.always) {
      send_changes(range);
    }
  }
}

void Coherence::send_changes(const SharedRange& range) {
  const auto* now = reinterpret_cast<const uint8_t*>(range.host);
  take_changes(now, range.base, range.bytes, [&](size_t offset, size_t bytes) {
    while (bytes > 0) {
      const size_t part = std::min<size_t>(bytes, wire::kMaxSharedWrite);
      wire::DynamicFrame frame(wire::ControlCall::write_shared, wire::kBulk);
      frame.arguments().put(uint64_t{range.device + offset});
      frame.complete(part);
      range.channel->post(0, frame.data(), frame.size(), range.base + offset, part);
      offset += part;
      bytes -= part;
    }
  });
}

void Coherence::after_wait(Channel& channel) {
  if (!device_has_written_.load()) return;
  const std::lock_guard lock(mutex_);
  const uint64_t work = work_.load();
  bool idle = false;
  if (!fetch(channel, false, &idle)) return;
  host_has_written_.store(true);
  // With one server: what is idle now has written all that it will.
  if (idle && work_.load() == work) device_has_written_.store(false);
}

bool Coherence::fetch(Channel& channel, bool mapped_only, bool* idle) {
  struct Piece {
    uint64_t address;
    uint64_t bytes;
  };
  *idle = true;
  std::vector<Piece> pieces;
  size_t asked = 0;
  const auto ask = [&] {
    wire::DynamicFrame frame(wire::ControlCall::fetch_shared, wire::kSync);
    frame.arguments().put(static_cast<uint32_t>(pieces.size()));
    for (const Piece& piece : pieces) {
      frame.arguments().put(piece.address);
      frame.arguments().put(piece.bytes);
    }
    frame.complete();
    pieces.clear();
    asked = 0;
    std::vector<uint8_t> answer;
    Reply reply;
    reply.table = &answer;
    if (channel.call(0, frame.data(), frame.size(), &reply) != CUDA_SUCCESS) return false;
    receive_pieces(answer, idle);
    return true;
  };
  for (const auto& [host, range] : ranges_) {
    if (range.channel != &channel) {
      *idle = false;  // that server may still write
      continue;
    }
    if (mapped_only && !range.mapped) continue;
    for (size_t done = 0; done < range.bytes;) {
      const size_t part = std::min<size_t>(range.bytes - done, wire::kMaxSharedFetch - asked);
      pieces.push_back({range.device + done, part});
      done += part;
      asked += (part + wire::kSharedPage - 1) / wire::kSharedPage * wire::kSharedPage;
      if (asked >= wire::kMaxSharedFetch && !ask()) return false;
    }
    if (pieces.size() >= 4096 && !ask()) return false;
  }
  return pieces.empty() || ask();
}

void Coherence::receive_pieces(const std::vector<uint8_t>& answer, bool* idle) {
  wire::Reader reader(answer.data(), answer.size());
  if (reader.get<uint8_t>() == 0) *idle = false;
  while (reader.left() > 0) {
    const auto address = reader.get<uint64_t>();
    const auto bytes = reader.get<uint32_t>();
    const uint8_t* data = reader.bytes(bytes);
    const auto after = by_device_.upper_bound(address);
    if (data == nullptr || after == by_device_.begin()) break;
    const SharedRange& range = ranges_.at(std::prev(after)->second);
    const uint64_t offset = address - range.device;
    if (offset >= range.bytes || bytes > range.bytes - offset) break;
    merge_changes(reinterpret_cast<uint8_t*>(range.host) + offset, range.base + offset, data, bytes);
  }
  if (!reader.finished()) SLUICE_WARN("The server sent changes of memory that it does not have.");
}

// While work is outstanding, mapped memory is brought together every now and then: the program may wait for a
// flag that a kernel sets, or a kernel for one that the program sets.
void Coherence::refresh() {
  std::unique_lock lock(mutex_);
  uint64_t seen = 0;  // the work after which nothing has to be looked at any more
  for (;;) {
    refresh_.wait(lock, [&] { return mapped_.load() > 0 && active() && work_.load() != seen; });
    auto interval = std::chrono::duration_cast<std::chrono::microseconds>(kFirstRefresh);
    bool idle = false;
    while (!idle && device_has_written_.load() && mapped_.load() > 0) {
      refresh_.wait_for(lock, interval);
      interval = std::min<std::chrono::microseconds>(2 * interval, kSlowestRefresh);
      const uint64_t work = work_.load();
      idle = true;
      std::vector<Channel*> channels;
      for (const auto& [host, range] : ranges_) {
        if (!range.mapped) continue;
        send_changes(range);
        if (channels.empty() || channels.back() != range.channel) channels.push_back(range.channel);
      }
      for (Channel* channel : channels) {
        bool channel_idle = false;
        const bool fetched = channel->lost() || fetch(*channel, true, &channel_idle);
        stats().round_trips.fetch_sub(1, std::memory_order_relaxed);  // nobody waits for it
        idle = idle && (channel->lost() || (fetched && channel_idle));
      }
      idle = idle && work_.load() == work;
      seen = work;
    }
    if (!idle) seen = work_.load();
  }
}

}  // namespace sluice::client
