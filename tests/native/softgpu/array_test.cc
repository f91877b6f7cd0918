// Arrays and textures of the driver: what tests through the API of a program cannot see.
#include <cstring>
#include <vector>

#include "driver_fixture.h"
#include "softgpu/texture.h"

namespace {

using sluice::softgpu::all_textures;
namespace ptx = sluice::ptx;

class ArrayTest : public DriverTest {
 protected:
  CUarray make(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray out = nullptr;
    EXPECT_OK(cuArray3DCreate_v2(&out, &descriptor));
    return out;
  }
  static CUDA_RESOURCE_DESC of(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }
};

// What an instruction that reads through the object needs is in the view, and the elements are where it says.
TEST_F(ArrayTest, AViewLeadsToTheElements) {
  const CUarray array = make({4, 3, 2, CU_AD_FORMAT_SIGNED_INT16, 2, CUDA_ARRAY3D_LAYERED});
  std::vector<int16_t> values(4 * 3 * 2 * 2);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int16_t>(100 - 9 * static_cast<int>(i));
  ASSERT_OK(cuMemcpyHtoA_v2(array, 0, values.data(), values.size() * 2));
  CUDA_TEXTURE_DESC sampling{};
  sampling.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP;
  sampling.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER;
  sampling.filterMode = CU_TR_FILTER_MODE_LINEAR;
  sampling.maxAnisotropy = 99;
  const CUDA_RESOURCE_DESC resource = of(array);
  CUtexObject texture = 0;
  ASSERT_OK(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  const ptx::TextureView* view = all_textures().texture(texture);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->shape, ptx::TextureShape::k2DLayered);
  EXPECT_EQ(view->kind, ptx::TexelKind::kSigned);
  EXPECT_EQ(view->channels, 2);
  EXPECT_EQ(view->element_bytes, 4);
  EXPECT_TRUE(view->reads_float());
  EXPECT_EQ(view->address_mode[0], CU_TR_ADDRESS_MODE_CLAMP);  // going round needs normalized coordinates
  EXPECT_EQ(view->address_mode[1], CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_EQ(view->max_anisotropy, 16u);
  const ptx::TextureLevel& level = view->levels[0];
  EXPECT_EQ(level.width, 4u);
  EXPECT_EQ(level.height, 3u);
  EXPECT_EQ(level.depth, 2u);
  for (size_t z = 0; z < 2; z++) {
    for (size_t y = 0; y < 3; y++) {
      const auto* row = reinterpret_cast<const int16_t*>(level.address + z * level.slice + y * level.pitch);
      for (size_t x = 0; x < 8; x++) EXPECT_EQ(row[x], values[(z * 3 + y) * 8 + x]);
    }
  }
  EXPECT_EQ(all_textures().surface(texture), nullptr);
  ASSERT_OK(cuTexObjectDestroy(texture));
  EXPECT_EQ(all_textures().texture(texture), nullptr);
  EXPECT_EQ(all_textures().texture(0x1234), nullptr);
}

TEST_F(ArrayTest, LevelsOfAViewAreThoseAskedFor) {
  const CUDA_ARRAY3D_DESCRIPTOR base{32, 32, 0, CU_AD_FORMAT_UNSIGNED_INT32, 2, 0};
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  ASSERT_OK(cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &base, 6));
  CUDA_TEXTURE_DESC sampling{};
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  CUDA_RESOURCE_VIEW_DESC seen{};
  seen.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;  // 64 bits as a block of four by four
  seen.width = seen.height = 128;
  seen.firstMipmapLevel = 1;
  seen.lastMipmapLevel = 3;
  CUtexObject texture = 0;
  ASSERT_OK(cuTexObjectCreate(&texture, &resource, &sampling, &seen));
  const ptx::TextureView* view = all_textures().texture(texture);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->kind, ptx::TexelKind::kBlock);
  EXPECT_EQ(view->level_count, 3u);
  EXPECT_EQ(view->levels[0].width, 64u);
  EXPECT_EQ(view->levels[0].pitch, 16u * 8);
  EXPECT_EQ(view->levels[2].width, 16u);
  seen.lastMipmapLevel = 6;
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling, &seen), CUDA_ERROR_INVALID_VALUE);
}

// No address of a program leads to elements: a fill with their address is refused, and so is freeing it.
TEST_F(ArrayTest, ElementsHaveNoAddress) {
  const CUarray array = make({64, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST});
  const CUDA_RESOURCE_DESC resource = of(array);
  CUsurfObject surface = 0;
  ASSERT_OK(cuSurfObjectCreate(&surface, &resource));
  const ptx::TextureView* view = all_textures().surface(surface);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(cuMemsetD8Async(view->levels[0].address, 1, 16, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(view->levels[0].address), CUDA_ERROR_INVALID_VALUE);
}

// Arrays and objects end with their context, and their memory comes back.
TEST_F(ArrayTest, EndWithTheirContext) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_OK(cuMemGetInfo_v2(&before, &total));
  CUcontext own = nullptr;
  ASSERT_OK(cuCtxCreate_v2(&own, 0, 0));
  const CUarray array = make({1024, 1024, 0, CU_AD_FORMAT_FLOAT, 4, 0});
  const CUDA_RESOURCE_DESC resource = of(array);
  const CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  ASSERT_OK(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  ASSERT_OK(cuCtxDestroy_v2(own));
  EXPECT_EQ(all_textures().texture(texture), nullptr);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_OK(cuMemGetInfo_v2(&after, &total));
  EXPECT_EQ(before, after);
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "1x(memory=1GiB,cc=10.0,sms=4)"); }
