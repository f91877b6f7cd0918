// The images that clients have sent, kept on the server's disk by the hash of their bytes.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::worker {

struct ImageCacheUse {
  uint64_t images = 0;
  uint64_t bytes = 0;
};

// What is in the folder; nothing when it cannot be read.
ImageCacheUse image_cache_use(const std::string& folder);

// How many bytes the folder may hold: SLUICE_IMAGE_CACHE_MIB, by default 5120 MiB. 0 keeps nothing.
uint64_t image_cache_limit();

// Removes the images that were used longest ago until the rest fits into `limit` bytes, and what a session
// that was killed has left half written. Sessions may do so at the same time.
void trim_image_cache(const std::string& folder, uint64_t limit);

}  // namespace sluice::worker
