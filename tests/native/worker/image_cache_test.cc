#include "worker/image_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sluice::worker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ImageCache : public ::testing::Test {
 protected:
  ImageCache() {
    char pattern[] = "/tmp/sluice-cache-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~ImageCache() override { fs::remove_all(folder_); }

  void add(const std::string& name, size_t bytes, std::chrono::minutes age) {
    std::ofstream(folder_ / name, std::ios::binary) << std::string(bytes, 'x');
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - age);
  }
  bool has(const std::string& name) const { return fs::exists(folder_ / name); }

  fs::path folder_;
};

TEST_F(ImageCache, CountsCompleteImages) {
  add("a1", 100, 1min);
  add("b2", 50, 2min);
  add("c3.77", 1000, 0min);
  const ImageCacheUse use = image_cache_use(folder_);
  EXPECT_EQ(use.images, 2u);
  EXPECT_EQ(use.bytes, 150u);
  EXPECT_EQ(image_cache_use("/nowhere").images, 0u);
}

TEST_F(ImageCache, RemovesWhatWasUsedLongestAgo) {
  add("old", 100, 30min);
  add("new", 100, 1min);
  add("older", 100, 60min);
  trim_image_cache(folder_, 300);
  EXPECT_EQ(image_cache_use(folder_).images, 3u);
  trim_image_cache(folder_, 299);
  EXPECT_FALSE(has("older"));
  EXPECT_TRUE(has("old") && has("new"));
  trim_image_cache(folder_, 100);
  EXPECT_FALSE(has("old"));
  EXPECT_TRUE(has("new"));
  trim_image_cache(folder_, 0);
  EXPECT_FALSE(has("new"));
}

TEST_F(ImageCache, RemovesWhatAKilledSessionLeft) {
  add("a1.77", 100, 61min);
  add("b2.78", 100, 5min);
  trim_image_cache(folder_, 1000);
  EXPECT_FALSE(has("a1.77"));
  EXPECT_TRUE(has("b2.78")) << "it may still be being written";
}

TEST(ImageCacheLimit, IsConfigurable) {
  EXPECT_EQ(image_cache_limit(), uint64_t{5120} << 20);
  ::setenv("SLUICE_IMAGE_CACHE_MIB", "7", 1);
  EXPECT_EQ(image_cache_limit(), uint64_t{7} << 20);
  ::setenv("SLUICE_IMAGE_CACHE_MIB", "lots", 1);
  EXPECT_EQ(image_cache_limit(), uint64_t{5120} << 20);
  ::unsetenv("SLUICE_IMAGE_CACHE_MIB");
}

}  // namespace
}  // namespace sluice::worker
