// Arrays of every kind, mipmapped arrays and their levels, planes of video formats: what they say about
// themselves, what is refused, and that their memory is given back.
// Round trips: 35.
#include <cstring>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

struct Kind {
  const char* name;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
};

constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED;
constexpr unsigned kCube = CUDA_ARRAY3D_CUBEMAP;
constexpr unsigned kSurface = CUDA_ARRAY3D_SURFACE_LDST;
constexpr unsigned kGather = CUDA_ARRAY3D_TEXTURE_GATHER;

constexpr Kind kKinds[] = {
    {"1D", {100, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}},
    {"2D", {30, 20, 0, CU_AD_FORMAT_FLOAT, 4, 0}},
    {"2D for surfaces", {30, 20, 0, CU_AD_FORMAT_SIGNED_INT16, 2, kSurface}},
    {"2D for gathers", {30, 20, 0, CU_AD_FORMAT_HALF, 1, kGather}},
    {"3D", {8, 9, 10, CU_AD_FORMAT_SIGNED_INT32, 2, 0}},
    {"1D layered", {40, 0, 7, CU_AD_FORMAT_UNSIGNED_INT16, 1, kLayered}},
    {"2D layered", {16, 16, 5, CU_AD_FORMAT_SIGNED_INT8, 4, kLayered}},
    {"cubemap", {16, 16, 6, CU_AD_FORMAT_UNSIGNED_INT32, 1, kCube}},
    {"layered cubemap", {16, 16, 12, CU_AD_FORMAT_FLOAT, 1, kCube | kLayered}},
};

bool same(const CUDA_ARRAY3D_DESCRIPTOR& a, const CUDA_ARRAY3D_DESCRIPTOR& b) {
  return a.Width == b.Width && a.Height == b.Height && a.Depth == b.Depth && a.Format == b.Format &&
         a.NumChannels == b.NumChannels && a.Flags == b.Flags;
}

void check_kinds() {
  for (const Kind& kind : kKinds) {
    CUarray array{};
    CUDA_ARRAY3D_DESCRIPTOR told{};
    CUDA_ARRAY_DESCRIPTOR flat{};
    CHECK(cu.cuArray3DCreate_v2(&array, &kind.descriptor));
    CHECK(cu.cuArray3DGetDescriptor_v2(&told, array));
    EXPECT(same(told, kind.descriptor));
    CHECK(cu.cuArrayGetDescriptor_v2(&flat, array));
    EXPECT(flat.Width == told.Width && flat.Height == told.Height && flat.Format == told.Format);
    CUarray plane{};
    EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuArrayGetPlane(&plane, array, 0));
    CHECK(cu.cuArrayDestroy(array));
    EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuArrayDestroy(array));
    EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuArray3DGetDescriptor_v2(&told, array));
    say("array: %s", kind.name);
  }
}

void check_refusals() {
  const auto refused = [](const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array{};
    EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuArray3DCreate_v2(&array, &descriptor));
  };
  refused({0, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0});
  refused({4, 4, 0, CU_AD_FORMAT_FLOAT, 3, 0});
  refused({4, 4, 0, static_cast<CUarray_format>(77), 1, 0});
  refused({4, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0});
  refused({4, 5, 6, CU_AD_FORMAT_FLOAT, 1, kCube});
  refused({4, 4, 7, CU_AD_FORMAT_FLOAT, 1, kCube});
  refused({4, 4, 7, CU_AD_FORMAT_FLOAT, 1, kCube | kLayered});
  refused({size_t{1} << 20, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0});
  refused({1, 1, 40000, CU_AD_FORMAT_FLOAT, 1, 0});
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuArray3DCreate_v2(nullptr, &kKinds[0].descriptor));
  say("what cannot be is refused");
}

// More than the device has, and after it everything as before.
void check_memory() {
  size_t before = 0, after = 0, total = 0;
  CHECK(cu.cuMemGetInfo_v2(&before, &total));
  const CUDA_ARRAY3D_DESCRIPTOR huge{16384, 16384, 1024, CU_AD_FORMAT_FLOAT, 4, 0};
  CUarray array{};
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, cu.cuArray3DCreate_v2(&array, &huge));
  const CUDA_ARRAY3D_DESCRIPTOR large{4096, 4096, 0, CU_AD_FORMAT_FLOAT, 4, 0};
  CHECK(cu.cuArray3DCreate_v2(&array, &large));
  CHECK(cu.cuMemGetInfo_v2(&after, &total));
  EXPECT(before - after >= size_t{4096} * 4096 * 16);
  CHECK(cu.cuArrayDestroy(array));
  CUmipmappedArray mipmap{};
  CHECK(cu.cuMipmappedArrayCreate(&mipmap, &large, 13));
  CHECK(cu.cuMipmappedArrayDestroy(mipmap));
  CHECK(cu.cuMemGetInfo_v2(&after, &total));
  EXPECT(before == after);
  say("memory is given back");
}

void check_levels() {
  const CUDA_ARRAY3D_DESCRIPTOR base{64, 32, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface};
  CUmipmappedArray mipmap{};
  CHECK(cu.cuMipmappedArrayCreate(&mipmap, &base, 100));  // as many as there can be
  std::vector<unsigned> written(64 * 32), back(64 * 32);
  for (unsigned level = 0; level < 7; level++) {
    CUarray array{}, again{};
    CUDA_ARRAY3D_DESCRIPTOR told{};
    CHECK(cu.cuMipmappedArrayGetLevel(&array, mipmap, level));
    CHECK(cu.cuMipmappedArrayGetLevel(&again, mipmap, level));
    EXPECT(array == again);
    CHECK(cu.cuArray3DGetDescriptor_v2(&told, array));
    say("level %u: %zu x %zu", level, told.Width, told.Height);
    EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuArrayDestroy(array));
    for (unsigned& word : written) word = word * 5 + level;
    CUDA_MEMCPY2D c{};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = written.data();
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = array;
    c.WidthInBytes = told.Width * 4;
    c.Height = told.Height;
    CHECK(cu.cuMemcpy2D_v2(&c));
    CUDA_MEMCPY2D d{};
    d.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    d.srcArray = array;
    d.dstMemoryType = CU_MEMORYTYPE_HOST;
    d.dstHost = back.data();
    d.WidthInBytes = c.WidthInBytes;
    d.Height = c.Height;
    CHECK(cu.cuMemcpy2D_v2(&d));
    EXPECT(std::memcmp(back.data(), written.data(), c.WidthInBytes * c.Height) == 0);
  }
  CUarray none{};
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMipmappedArrayGetLevel(&none, mipmap, 7));
  CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMipmappedArrayGetSparseProperties(&sparse, mipmap));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0));
  CHECK(cu.cuMipmappedArrayDestroy(mipmap));
}

void check_planes() {
  const CUDA_ARRAY3D_DESCRIPTOR nv12{64, 48, 0, CU_AD_FORMAT_NV12, 3, 0};
  CUarray array{};
  CHECK(cu.cuArray3DCreate_v2(&array, &nv12));
  for (unsigned i = 0; i < 2; i++) {
    CUarray plane{};
    CUDA_ARRAY3D_DESCRIPTOR told{};
    CHECK(cu.cuArrayGetPlane(&plane, array, i));
    CHECK(cu.cuArray3DGetDescriptor_v2(&told, plane));
    say("plane %u: %zu x %zu, %u channels", i, told.Width, told.Height, told.NumChannels);
    EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuArrayDestroy(plane));
  }
  CUarray none{};
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuArrayGetPlane(&none, array, 2));
  CHECK(cu.cuArrayDestroy(array));
}

}  // namespace

int main() {
  open_device();
  check_kinds();
  check_refusals();
  check_memory();
  check_levels();
  check_planes();
}
