#include "worker/image_cache.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/env.h"
#include "common/log.h"

namespace sluice::worker {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int64_t kDefaultMib = 5120;
// An image of the largest size is written in far less.
constexpr auto kHalfWrittenAge = std::chrono::hours(1);

struct Entry {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

// Complete images are named by their hash, those being written have a suffix.
bool is_complete(const fs::path& path) { return path.extension().empty(); }

std::vector<Entry> list(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another session may be removing it
    Entry entry{at->path(), at->file_size(gone), {}};
    if (gone) continue;
    entry.used = at->last_write_time(gone);
    if (!gone) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

ImageCacheUse image_cache_use(const std::string& folder) {
  ImageCacheUse use;
  if (folder.empty()) return use;
  for (const Entry& entry : list(folder)) {
    if (!is_complete(entry.path)) continue;
    use.images++;
    use.bytes += entry.bytes;
  }
  return use;
}

uint64_t image_cache_limit() {
  const auto mib = env::integer("SLUICE_IMAGE_CACHE_MIB", 0, int64_t{1} << 30);
  if (!mib) SLUICE_WARN("%s", mib.error().c_str());
  return static_cast<uint64_t>(mib ? mib->value_or(kDefaultMib) : kDefaultMib) * kMiB;
}

void trim_image_cache(const std::string& folder, uint64_t limit) {
  std::vector<Entry> entries = list(folder);
  const auto now = fs::file_time_type::clock::now();
  std::error_code ignored;
  uint64_t bytes = 0;
  std::erase_if(entries, [&](const Entry& entry) {
    if (is_complete(entry.path)) {
      bytes += entry.bytes;
      return false;
    }
    if (now - entry.used > kHalfWrittenAge) fs::remove(entry.path, ignored);
    return true;
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (bytes <= limit) return;
    fs::remove(entry.path, ignored);
    bytes -= entry.bytes;
  }
}

}  // namespace sluice::worker
