#include "softgpu/image.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sluice::softgpu {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr uint32_t kElfMagic = 0x464c457f;
constexpr uint64_t kMaxContainerBytes = uint64_t{2} << 30;
constexpr uint64_t kMaxUncompressed = uint64_t{256} << 20;  // several times the largest that libraries carry
constexpr size_t kMaxListed = 65536;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  const void* list;  // version 2: null-terminated array of containers; version 1: a file name or null
};

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // after the header
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t padded_bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t sm;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressed_bytes;
};
static_assert(sizeof(EntryHeader) == 0x40);

constexpr uint16_t kKindPtx = 1;
constexpr uint16_t kKindElf = 2;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;

CUresult invalid(std::string* why, const char* sentence) {
  *why = sentence;
  return CUDA_ERROR_INVALID_IMAGE;
}

bool expand(const EntryHeader& header, std::span<const std::byte> payload, std::string* out) {
  if ((header.flags & (kFlagLz4 | kFlagZstd)) == 0) {
    out->assign(reinterpret_cast<const char*>(payload.data()), payload.size());
    return true;
  }
  if (header.uncompressed_bytes == 0 || header.uncompressed_bytes > kMaxUncompressed) return false;
  const size_t compressed = header.compressed_bytes != 0 ? header.compressed_bytes : payload.size();
  if (compressed > payload.size()) return false;
  out->resize(header.uncompressed_bytes);
  if ((header.flags & kFlagLz4) != 0) {
    const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(payload.data()), out->data(),
                                        static_cast<int>(compressed), static_cast<int>(out->size()));
    return got >= 0 && static_cast<uint64_t>(got) == header.uncompressed_bytes;
  }
  const size_t got = ZSTD_decompress(out->data(), out->size(), payload.data(), compressed);
  return ZSTD_isError(got) == 0 && got == header.uncompressed_bytes;
}

bool looks_like_ptx(const char* text) {
  // Comments and blank lines, then .version; whatever else begins here is not PTX.
  while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') ++text;
  return *text == '/' || *text == '.';
}

CUresult read_container_at(const void* at, Images* out, std::string* why) {
  ContainerHeader header;
  std::memcpy(&header, at, sizeof(header));
  if (header.magic != kContainerMagic) return invalid(why, "the fatbin wrapper does not point to a fatbin");
  if (header.bytes > kMaxContainerBytes) return invalid(why, "the fatbin's header gives an absurd length");
  return read_container({static_cast<const std::byte*>(at), header.header_bytes + header.bytes}, out, why);
}

}  // namespace

CUresult read_container(std::span<const std::byte> bytes, Images* out, std::string* why) {
  ContainerHeader container;
  if (bytes.size() < sizeof(container)) return invalid(why, "the fatbin is shorter than its header");
  std::memcpy(&container, bytes.data(), sizeof(container));
  if (container.magic != kContainerMagic || container.header_bytes < sizeof(container) ||
      container.header_bytes > bytes.size() || container.bytes > bytes.size() - container.header_bytes) {
    return invalid(why, "the fatbin's header is damaged");
  }
  std::span<const std::byte> rest = bytes.subspan(container.header_bytes, container.bytes);
  while (rest.size() >= sizeof(EntryHeader)) {
    EntryHeader header;
    std::memcpy(&header, rest.data(), sizeof(header));
    const uint64_t payload_bytes = std::max<uint64_t>(header.padded_bytes, header.compressed_bytes);
    if (header.header_bytes < sizeof(header) || header.header_bytes > rest.size() ||
        payload_bytes > rest.size() - header.header_bytes) {
      return invalid(why, "an entry of the fatbin reaches beyond its end");
    }
    if (header.kind == kKindElf) out->has_elf = true;
    if (header.kind == kKindPtx) {
      PtxImage image;
      image.sm = static_cast<int>(std::min<uint32_t>(header.sm, 9999));
      image.isa = header.major * 10 + header.minor;
      if (!expand(header, rest.subspan(header.header_bytes, payload_bytes), &image.text)) {
        return invalid(why, "a compressed PTX entry of the fatbin is damaged");
      }
      image.text.resize(std::strlen(image.text.c_str()));  // padding
      out->ptx.push_back(std::move(image));
    }
    rest = rest.subspan(header.header_bytes + payload_bytes);
  }
  return CUDA_SUCCESS;
}

CUresult read_image(const void* image, Images* out, std::string* why) {
  const auto* first = static_cast<const unsigned char*>(image);
  // Compared byte by byte: a short text need not have four bytes.
  const auto starts_with = [&](uint32_t magic) {
    for (int i = 0; i < 4; ++i) {
      if (first[i] != ((magic >> (8 * i)) & 0xff)) return false;
    }
    return true;
  };
  if (starts_with(kElfMagic)) {
    out->has_elf = true;
    return CUDA_SUCCESS;
  }
  if (starts_with(kContainerMagic)) return read_container_at(image, out, why);
  if (starts_with(kWrapperMagic)) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    if (wrapper.version != 1 && wrapper.version != 2)
      return invalid(why, "the fatbin wrapper's version is unknown");
    if (wrapper.data == nullptr) return invalid(why, "the fatbin wrapper is empty");
    if (const CUresult result = read_container_at(wrapper.data, out, why); result != CUDA_SUCCESS)
      return result;
    if (wrapper.version == 2 && wrapper.list != nullptr) {
      const auto* list = static_cast<const void* const*>(wrapper.list);
      for (size_t i = 0; i < kMaxListed && list[i] != nullptr; ++i) {
        if (list[i] == wrapper.data) continue;
        if (const CUresult result = read_container_at(list[i], out, why); result != CUDA_SUCCESS)
          return result;
      }
    }
    return CUDA_SUCCESS;
  }
  const auto* text = static_cast<const char*>(image);
  if (!looks_like_ptx(text)) return invalid(why, "the image is neither PTX nor a fatbin nor ELF");
  PtxImage ptx;
  ptx.text = text;
  ptx.sm = ptx_target(ptx.text);
  out->ptx.push_back(std::move(ptx));
  return CUDA_SUCCESS;
}

CUresult select_images(const Images& images, int cc, std::vector<const PtxImage*>* out) {
  for (const PtxImage& image : images.ptx) {
    if (image.sm <= cc) out->push_back(&image);
  }
  std::stable_sort(out->begin(), out->end(), [](const PtxImage* a, const PtxImage* b) {
    return a->sm != b->sm ? a->sm > b->sm : a->isa > b->isa;
  });
  return out->empty() ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
}

int ptx_target(const std::string& text) {
  const size_t at = text.find(".target");
  if (at == std::string::npos) return 0;
  const size_t sm = text.find("sm_", at);
  if (sm == std::string::npos || sm > at + 64) return 0;
  int value = 0;
  for (size_t i = sm + 3; i < text.size() && text[i] >= '0' && text[i] <= '9' && value < 1000; ++i) {
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace sluice::softgpu
