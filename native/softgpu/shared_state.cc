#include "softgpu/shared_state.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "softgpu/config.h"

namespace sluice::softgpu {
namespace {

constexpr uint64_t kMagic = 0x31757067'74666f73;  // "softgpu1"
constexpr int kMaxProcesses = 256;                // per device; a full table refuses the next process
constexpr uint64_t kBucketNs = 50'000'000;
constexpr uint64_t kBuckets = 32;  // 1.6 s, more than the second that is read
constexpr uint64_t kWindowNs = 1'000'000'000;

// CLOCK_MONOTONIC is the same in all processes of a machine.
uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// Field 22 of /proc/<pid>/stat, in clock ticks since boot; 0 when there is no such process or it is a zombie.
uint64_t start_time(int pid) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* at = std::strrchr(text, ')');  // the command name may hold spaces and parentheses
  if (at == nullptr || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X') return 0;
  for (int field = 2; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

struct Bucket {
  std::atomic<uint64_t> index;  // which kBucketNs since the clock's start
  std::atomic<uint64_t> busy_ns;
};

struct Slot {
  std::atomic<int> pid;  // 0: free
  int contexts;
  uint64_t start;
  uint64_t used_bytes;
  std::atomic<uint64_t> busy_since;  // ns, 0 while idle
  Bucket buckets[kBuckets];
};

struct DeviceState {
  pthread_mutex_t mutex;
  uint64_t used_bytes;  // sum over slots, kept so that an allocation does not scan
  Slot slots[kMaxProcesses];
};

// Spreads [begin, end) over the buckets. Only one thread of the owning process does this at a time.
void add_busy(Slot& slot, uint64_t begin, uint64_t end) {
  begin = std::max(begin, end - std::min(end, kBucketNs * (kBuckets - 1)));
  while (begin < end) {
    const uint64_t index = begin / kBucketNs;
    const uint64_t until = std::min(end, (index + 1) * kBucketNs);
    Bucket& bucket = slot.buckets[index % kBuckets];
    if (bucket.index.load(std::memory_order_relaxed) != index) {
      bucket.busy_ns.store(0, std::memory_order_relaxed);
      bucket.index.store(index, std::memory_order_release);
    }
    bucket.busy_ns.fetch_add(until - begin, std::memory_order_relaxed);
    begin = until;
  }
}

void forget(DeviceState& device, Slot& slot) {
  device.used_bytes -= slot.used_bytes;
  slot.used_bytes = 0;
  slot.contexts = 0;
  slot.busy_since.store(0);
  for (Bucket& bucket : slot.buckets) bucket.index.store(0);
  slot.pid.store(0, std::memory_order_release);
}

void forget_dead(DeviceState& device) {
  const int self = getpid();
  for (Slot& slot : device.slots) {
    const int pid = slot.pid.load(std::memory_order_acquire);
    if (pid != 0 && pid != self && start_time(pid) != slot.start) forget(device, slot);
  }
}

// This process's part of the bookkeeping: which slot it has, and how many of its threads are at work.
struct Own {
  std::mutex mutex;
  int slot[kMaxDevices];
  int active[kMaxDevices] = {};
  int pid = 0;
  uint64_t start = 0;
  Own() { std::fill(std::begin(slot), std::end(slot), -1); }
};

Own& own() {
  static auto* instance = new Own;
  return *instance;
}

}  // namespace

struct SharedState::Layout {
  uint64_t magic;
  uint64_t bytes;
  DeviceState devices[kMaxDevices];
};

std::unique_ptr<SharedState> SharedState::open(const std::string& directory, std::string* error) {
  const auto fail = [&](const std::string& what) {
    *error = "The software GPU cannot " + what + ": " + std::strerror(errno) +
             ". SLUICE_SOFTGPU_DIR must name a folder that this user may write.";
    return nullptr;
  };
  // With the folders above it, as mkdir -p does.
  for (size_t slash = directory.find('/', 1); slash != std::string::npos;
       slash = directory.find('/', slash + 1)) {
    mkdir(directory.substr(0, slash).c_str(), 0755);
  }
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return fail("create the folder " + directory);
  const std::string path = directory + "/state-1";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail("open " + path);
  // The first one to come makes the mutexes; the others wait here meanwhile.
  void* mapped = MAP_FAILED;
  bool understood = true;
  if (flock(fd, LOCK_EX) == 0 && ftruncate(fd, sizeof(Layout)) == 0) {
    mapped = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) {
      auto* layout = static_cast<Layout*>(mapped);
      if (layout->magic == 0) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        for (DeviceState& device : layout->devices) pthread_mutex_init(&device.mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
        layout->bytes = sizeof(Layout);
        layout->magic = kMagic;
      }
      understood = layout->magic == kMagic && layout->bytes == sizeof(Layout);
    }
    flock(fd, LOCK_UN);
  }
  const int saved = errno;
  close(fd);
  errno = saved;
  if (mapped == MAP_FAILED) return fail("map " + path);
  if (!understood) {
    munmap(mapped, sizeof(Layout));
    *error =
        path +
        " was written by another version of the software GPU. End the programs that use it and remove it.";
    return nullptr;
  }
  return std::unique_ptr<SharedState>(new SharedState(static_cast<Layout*>(mapped)));
}

SharedState::~SharedState() { munmap(layout_, sizeof(Layout)); }

void SharedState::lock(int device) {
  DeviceState& state = layout_->devices[device];
  if (pthread_mutex_lock(&state.mutex) != EOWNERDEAD) return;
  // Its owner died inside: the sum may not match the entries.
  pthread_mutex_consistent(&state.mutex);
  state.used_bytes = 0;
  for (const Slot& slot : state.slots) state.used_bytes += slot.used_bytes;
}

void SharedState::unlock(int device) { pthread_mutex_unlock(&layout_->devices[device].mutex); }

// The caller holds the device's lock. -1 when the table is full.
int SharedState::own_slot(int device) {
  Own& me = own();
  const std::lock_guard guard(me.mutex);
  if (me.slot[device] >= 0) return me.slot[device];
  if (me.pid == 0) {
    me.pid = getpid();
    me.start = start_time(me.pid);
  }
  DeviceState& state = layout_->devices[device];
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (int i = 0; i < kMaxProcesses; ++i) {
      Slot& slot = state.slots[i];
      const int pid = slot.pid.load();
      if (pid == me.pid && slot.start != me.start) forget(state, slot);  // an earlier process with our pid
      if (slot.pid.load() != 0) continue;
      slot.start = me.start;
      slot.used_bytes = 0;
      slot.contexts = 0;
      slot.busy_since.store(0);
      slot.pid.store(me.pid, std::memory_order_release);
      me.slot[device] = i;
      return i;
    }
    forget_dead(state);
  }
  return -1;
}

bool SharedState::reserve(int device, uint64_t bytes, uint64_t total_bytes) {
  DeviceState& state = layout_->devices[device];
  lock(device);
  const int index = own_slot(device);
  bool granted = false;
  if (index >= 0) {
    const auto fits = [&] {
      return state.used_bytes <= total_bytes && bytes <= total_bytes - state.used_bytes;
    };
    if (!fits()) forget_dead(state);
    granted = fits();
    if (granted) {
      state.slots[index].used_bytes += bytes;
      state.used_bytes += bytes;
    }
  }
  unlock(device);
  return granted;
}

void SharedState::release(int device, uint64_t bytes) {
  DeviceState& state = layout_->devices[device];
  lock(device);
  if (const int index = own_slot(device); index >= 0) {
    state.slots[index].used_bytes -= bytes;
    state.used_bytes -= bytes;
  }
  unlock(device);
}

void SharedState::count_context(int device, int change) {
  lock(device);
  if (const int index = own_slot(device); index >= 0)
    layout_->devices[device].slots[index].contexts += change;
  unlock(device);
}

void SharedState::busy_begin(int device) {
  Own& me = own();
  const std::lock_guard guard(me.mutex);
  if (me.active[device]++ == 0 && me.slot[device] >= 0) {
    layout_->devices[device].slots[me.slot[device]].busy_since.store(now_ns(), std::memory_order_release);
  }
}

void SharedState::busy_end(int device) {
  Own& me = own();
  const std::lock_guard guard(me.mutex);
  if (--me.active[device] == 0 && me.slot[device] >= 0) {
    Slot& slot = layout_->devices[device].slots[me.slot[device]];
    const uint64_t since = slot.busy_since.exchange(0, std::memory_order_acq_rel);
    if (since != 0) add_busy(slot, since, now_ns());
  }
}

uint64_t SharedState::used_bytes(int device) {
  lock(device);
  forget_dead(layout_->devices[device]);
  const uint64_t used = layout_->devices[device].used_bytes;
  unlock(device);
  return used;
}

std::vector<ProcessUse> SharedState::processes(int device) {
  std::vector<ProcessUse> out;
  lock(device);
  forget_dead(layout_->devices[device]);
  for (const Slot& slot : layout_->devices[device].slots) {
    const int pid = slot.pid.load();
    if (pid != 0) out.push_back({pid, slot.used_bytes, slot.contexts > 0});
  }
  unlock(device);
  return out;
}

double SharedState::utilization(int device) {
  const uint64_t now = now_ns();
  const uint64_t from = now - kWindowNs;
  uint64_t busy = 0;
  lock(device);
  forget_dead(layout_->devices[device]);
  for (const Slot& slot : layout_->devices[device].slots) {
    if (slot.pid.load() == 0) continue;
    const uint64_t since = slot.busy_since.load(std::memory_order_acquire);
    if (since != 0 && since < now) busy += now - std::max(since, from);
    for (const Bucket& bucket : slot.buckets) {
      const uint64_t begin = bucket.index.load(std::memory_order_acquire) * kBucketNs;
      // A bucket at the edge of the second counts by the part that lies inside.
      if (begin + kBucketNs <= from || begin > now) continue;
      const uint64_t inside = std::min(begin + kBucketNs, now) - std::max(begin, from);
      busy += std::min(bucket.busy_ns.load(std::memory_order_relaxed), inside);
    }
  }
  unlock(device);
  return std::min(1.0, static_cast<double>(busy) / static_cast<double>(kWindowNs));
}

}  // namespace sluice::softgpu
