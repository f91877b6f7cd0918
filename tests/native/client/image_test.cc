#include "client/image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace sluice::client {
namespace {

std::vector<uint8_t> container(uint64_t body) {
  std::vector<uint8_t> bytes(16 + body);
  const uint32_t magic = 0xba55ed50;
  const uint16_t words[] = {1, 16};
  std::memcpy(bytes.data(), &magic, sizeof magic);
  std::memcpy(bytes.data() + 4, words, sizeof words);
  std::memcpy(bytes.data() + 8, &body, sizeof body);
  return bytes;
}

TEST(Image, MeasuresPtxWithItsZeroByte) {
  const std::string text = "// a comment\n/* another */\n\t.version 7.0\n.target sm_50\n";
  ImageBytes image;
  ASSERT_TRUE(image_at(text.c_str(), &image));
  EXPECT_EQ(image.kind, ImageKind::ptx);
  EXPECT_EQ(image.size, text.size() + 1);
}

TEST(Image, MeasuresAContainerAndFollowsAWrapper) {
  const auto bytes = container(48);
  struct {
    uint32_t magic = 0x466243b1;
    uint32_t version = 1;
    const void* data;
    const void* file = nullptr;
  } wrapper{.data = bytes.data()};
  for (const void* pointer : {static_cast<const void*>(bytes.data()), static_cast<const void*>(&wrapper)}) {
    ImageBytes image;
    ASSERT_TRUE(image_at(pointer, &image));
    EXPECT_EQ(image.kind, ImageKind::container);
    EXPECT_EQ(image.data, bytes.data());
    EXPECT_EQ(image.size, bytes.size());
  }
}

TEST(Image, MeasuresAnElfFileToItsLastSection) {
  std::vector<uint8_t> bytes(1000);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ehsize = sizeof header;
  header.e_shoff = 100;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  Elf64_Shdr body{};
  body.sh_type = SHT_PROGBITS;
  body.sh_offset = 600;
  body.sh_size = 111;
  Elf64_Shdr nothing{};
  nothing.sh_type = SHT_NOBITS;  // takes no place in the file
  nothing.sh_offset = 900;
  nothing.sh_size = 5000;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + 100, &body, sizeof body);
  std::memcpy(bytes.data() + 100 + sizeof body, &nothing, sizeof nothing);
  ImageBytes image;
  ASSERT_TRUE(image_at(bytes.data(), &image));
  EXPECT_EQ(image.kind, ImageKind::elf);
  EXPECT_EQ(image.size, 711u);
}

TEST(Image, RefusesWhatIsNone) {
  ImageBytes image;
  EXPECT_FALSE(image_at("", &image));
  EXPECT_FALSE(image_at("not an image at all", &image));
}

}  // namespace
}  // namespace sluice::client
