// Layouts: facts about nvcc's output (fatbin wrapper, container) and the ELF specification.
#include "client/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace sluice::client {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr uint32_t kOldContainerMagic = 0x1ee55a01;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  const void* file_or_list;
};

struct Container {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t body_bytes;
};

size_t elf_size(const uint8_t* bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  uint64_t end =
      std::max<uint64_t>(header.e_ehsize, header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum);
  end = std::max(end, header.e_phoff + uint64_t{header.e_phentsize} * header.e_phnum);
  for (unsigned i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + uint64_t{header.e_shentsize} * i, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes + header.e_phoff + uint64_t{header.e_phentsize} * i, sizeof segment);
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

// PTX is text that says so before anything but comments and white space.
bool looks_like_ptx(const char* text) {
  for (;;) {
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') text++;
    if (text[0] == '/' && text[1] == '/') {
      while (*text != '\0' && *text != '\n') text++;
    } else if (text[0] == '/' && text[1] == '*') {
      const char* end = std::strstr(text + 2, "*/");
      if (end == nullptr) return false;
      text = end + 2;
    } else {
      return std::strncmp(text, ".version", 8) == 0;
    }
  }
}

}  // namespace

bool image_at(const void* pointer, ImageBytes* image) {
  uint32_t magic = 0;
  std::memcpy(&magic, pointer, 1);
  if (static_cast<uint8_t>(magic) == 0) return false;
  if (looks_like_ptx(static_cast<const char*>(pointer))) {
    *image = {ImageKind::ptx, pointer, std::strlen(static_cast<const char*>(pointer)) + 1};
    return true;
  }
  std::memcpy(&magic, pointer, sizeof magic);
  if (magic == kWrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, pointer, sizeof wrapper);
    return wrapper.data != nullptr && image_at(wrapper.data, image);
  }
  if (magic == kContainerMagic || magic == kOldContainerMagic) {
    Container container;
    std::memcpy(&container, pointer, sizeof container);
    *image = {ImageKind::container, pointer, container.header_bytes + container.body_bytes};
    return true;
  }
  if (std::memcmp(pointer, ELFMAG, SELFMAG) == 0) {
    *image = {ImageKind::elf, pointer, elf_size(static_cast<const uint8_t*>(pointer))};
    return image->size > 0;
  }
  return false;
}

}  // namespace sluice::client
