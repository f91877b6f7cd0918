// Builds fatbin containers for tests.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

enum class Packing { kPlain, kLz4, kZstd };

inline std::string fatbin_entry(uint16_t kind, uint32_t sm, const std::string& payload, Packing packing) {
  std::string stored = payload;
  uint64_t flags = 0x11;
  if (packing == Packing::kLz4) {
    stored.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(payload.size()))));
    const int bytes = LZ4_compress_default(payload.data(), stored.data(), static_cast<int>(payload.size()),
                                           static_cast<int>(stored.size()));
    stored.resize(static_cast<size_t>(bytes));
    flags |= 0x2000;
  } else if (packing == Packing::kZstd) {
    stored.resize(ZSTD_compressBound(payload.size()));
    stored.resize(ZSTD_compress(stored.data(), stored.size(), payload.data(), payload.size(), 3));
    flags |= 0x8000;
  }
  const bool compressed = packing != Packing::kPlain;
  const size_t exact = stored.size();
  stored.resize((stored.size() + 7) / 8 * 8);
  std::string header(0x40, '\0');
  const auto put = [&](size_t at, auto value) { std::memcpy(header.data() + at, &value, sizeof(value)); };
  put(0x00, kind);
  put(0x02, uint16_t{0x101});
  put(0x04, uint32_t{0x40});
  put(0x08, static_cast<uint64_t>(stored.size()));
  put(0x10, static_cast<uint32_t>(compressed ? exact : 0));
  put(0x18, uint16_t{0});
  put(0x1a, uint16_t{8});
  put(0x1c, sm);
  put(0x28, flags);
  put(0x38, static_cast<uint64_t>(compressed ? payload.size() : 0));
  return header + stored;
}

inline std::string fatbin(const std::vector<std::string>& entries) {
  std::string body;
  for (const std::string& entry : entries) body += entry;
  std::string header(16, '\0');
  const uint32_t magic = 0xba55ed50;
  const uint16_t version = 1, header_bytes = 16;
  const uint64_t bytes = body.size();
  std::memcpy(header.data(), &magic, 4);
  std::memcpy(header.data() + 4, &version, 2);
  std::memcpy(header.data() + 6, &header_bytes, 2);
  std::memcpy(header.data() + 8, &bytes, 8);
  return header + body;
}

struct FatbinWrapper {
  uint32_t magic = 0x466243b1;
  uint32_t version = 1;
  const void* data = nullptr;
  const void* list = nullptr;
};
