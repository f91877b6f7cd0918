// Texture and surface objects of every kind of resource, references and tensor maps: what they say about
// themselves, and what is refused.
// Round trips: 37.
#include <cstring>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;

CUDA_TEXTURE_DESC sampling(unsigned flags = 0) {
  CUDA_TEXTURE_DESC s{};
  for (CUaddress_mode& mode : s.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  s.filterMode = CU_TR_FILTER_MODE_POINT;
  s.flags = flags;
  s.borderColor[2] = 0.5f;
  return s;
}

CUDA_RESOURCE_DESC of_array(CUarray array) {
  CUDA_RESOURCE_DESC r{};
  r.resType = CU_RESOURCE_TYPE_ARRAY;
  r.res.array.hArray = array;
  return r;
}

// Makes the object, asks it what it is, destroys it.
void check_texture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& how, const char* name) {
  CUtexObject texture = 0, other = 0;
  CUDA_RESOURCE_DESC told{};
  CUDA_TEXTURE_DESC told_how{};
  CUDA_RESOURCE_VIEW_DESC told_view{};
  CHECK(cu.cuTexObjectCreate(&texture, &resource, &how, nullptr));
  CHECK(cu.cuTexObjectCreate(&other, &resource, &how, nullptr));
  EXPECT(texture != 0 && other != 0 && texture != other);
  CHECK(cu.cuTexObjectGetResourceDesc(&told, texture));
  EXPECT(told.resType == resource.resType && told.res.linear.devPtr == resource.res.linear.devPtr);
  CHECK(cu.cuTexObjectGetTextureDesc(&told_how, texture));
  EXPECT(told_how.flags == how.flags && told_how.borderColor[2] == 0.5f);
  EXPECT_RESULT(kInvalid, cu.cuTexObjectGetResourceViewDesc(&told_view, texture));
  CHECK(cu.cuTexObjectDestroy(texture));
  EXPECT_RESULT(kInvalid, cu.cuTexObjectDestroy(texture));
  EXPECT_RESULT(kInvalid, cu.cuTexObjectGetResourceDesc(&told, texture));
  CHECK(cu.cuTexObjectDestroy(other));
  say("texture: %s", name);
}

void refused(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& how) {
  CUtexObject texture = 0;
  EXPECT_RESULT(kInvalid, cu.cuTexObjectCreate(&texture, &resource, &how, nullptr));
}

void check_arrays(CUarray array) {
  check_texture(of_array(array), sampling(CU_TRSF_NORMALIZED_COORDINATES), "array");
  CUDA_TEXTURE_DESC how = sampling();
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;  // of integers
  refused(of_array(array), how);
  how = sampling();
  how.addressMode[0] = static_cast<CUaddress_mode>(9);
  refused(of_array(array), how);
  CUtexObject texture = 0;
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_UINT_4X8;  // the same 32 bits seen as bytes
  view.width = 64;
  view.height = 32;
  const CUDA_RESOURCE_DESC resource = of_array(array);
  how = sampling();
  CHECK(cu.cuTexObjectCreate(&texture, &resource, &how, &view));
  CUDA_RESOURCE_VIEW_DESC told{};
  CHECK(cu.cuTexObjectGetResourceViewDesc(&told, texture));
  EXPECT(told.format == view.format && told.width == 64 && told.height == 32);
  CHECK(cu.cuTexObjectDestroy(texture));
  view.width = 63;
  EXPECT_RESULT(kInvalid, cu.cuTexObjectCreate(&texture, &resource, &how, &view));
  say("texture: view");

  CUsurfObject surface = 0;
  CUDA_RESOURCE_DESC told_resource{};
  CHECK(cu.cuSurfObjectCreate(&surface, &resource));
  CHECK(cu.cuSurfObjectGetResourceDesc(&told_resource, surface));
  EXPECT(told_resource.res.array.hArray == array);
  CHECK(cu.cuSurfObjectDestroy(surface));
  EXPECT_RESULT(kInvalid, cu.cuSurfObjectDestroy(surface));
  say("surface");
}

void check_mipmap() {
  const CUDA_ARRAY3D_DESCRIPTOR base{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  CHECK(cu.cuMipmappedArrayCreate(&resource.res.mipmap.hMipmappedArray, &base, 4));
  CUDA_TEXTURE_DESC how = sampling(CU_TRSF_NORMALIZED_COORDINATES);
  how.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  how.maxMipmapLevelClamp = 3;
  check_texture(resource, how, "mipmapped array");
  refused(resource, sampling());  // needs normalized coordinates
  CHECK(cu.cuMipmappedArrayDestroy(resource.res.mipmap.hMipmappedArray));
}

void check_linear(CUdeviceptr memory) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {memory, CU_AD_FORMAT_FLOAT, 4, 4096};
  check_texture(resource, sampling(), "linear");
  resource.res.linear.devPtr = memory + 16;
  refused(resource, sampling());
  resource.res.linear = {memory, CU_AD_FORMAT_FLOAT, 3, 4096};
  refused(resource, sampling());
  CUDA_RESOURCE_DESC pitched{};
  pitched.resType = CU_RESOURCE_TYPE_PITCH2D;
  pitched.res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 30, 20, 128};
  check_texture(pitched, sampling(CU_TRSF_READ_AS_INTEGER), "pitched");
  pitched.res.pitch2D.pitchInBytes = 130;
  refused(pitched, sampling());
  size_t most = 0;
  CHECK(cu.cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 4, 0));
  EXPECT(most >= size_t{1} << 27);
}

void check_reference(CUarray array) {
  CUtexref reference{};
  CHECK(cu.cuTexRefCreate(&reference));
  CHECK(cu.cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
  CHECK(cu.cuTexRefSetAddressMode(reference, 1, CU_TR_ADDRESS_MODE_MIRROR));
  CHECK(cu.cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
  CHECK(cu.cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
  CUfilter_mode filter{};
  CUaddress_mode mode{};
  CUarray bound{};
  CUarray_format format{};
  int channels = 0;
  CHECK(cu.cuTexRefGetFilterMode(&filter, reference));
  CHECK(cu.cuTexRefGetAddressMode(&mode, reference, 1));
  CHECK(cu.cuTexRefGetArray(&bound, reference));
  CHECK(cu.cuTexRefGetFormat(&format, &channels, reference));
  EXPECT(filter == CU_TR_FILTER_MODE_LINEAR && mode == CU_TR_ADDRESS_MODE_MIRROR && bound == array);
  EXPECT(format == CU_AD_FORMAT_UNSIGNED_INT32 && channels == 1);
  float color[4] = {0.25f, 0, 1, 0.5f}, told[4] = {};
  CHECK(cu.cuTexRefSetBorderColor(reference, color));
  CHECK(cu.cuTexRefGetBorderColor(told, reference));
  EXPECT(std::memcmp(color, told, sizeof color) == 0);
  EXPECT_RESULT(kInvalid, cu.cuTexRefSetFilterMode(reference, static_cast<CUfilter_mode>(5)));
  CHECK(cu.cuTexRefDestroy(reference));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuTexRefDestroy(reference));
  say("reference");
}

void check_tensor_maps(CUdeviceptr memory) {
  alignas(64) CUtensorMap first{}, second{}, moved{};
  const unsigned long long dimensions[2] = {256, 64}, strides[1] = {512};
  const unsigned box[2] = {64, 32}, steps[2] = {1, 1};
  const auto encode = [&](CUtensorMap* map, CUdeviceptr address, unsigned rank) {
    return cu.cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank,
                                     reinterpret_cast<void*>(address), dimensions, strides, box, steps,
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  // A program encodes the same map again and again: once is enough to ask for it.
  for (int i = 0; i < 50; i++) CHECK(encode(&first, memory, 2));
  CHECK(encode(&second, memory + 1024, 2));
  EXPECT(std::memcmp(&first, &second, sizeof first) != 0);
  moved = first;
  CHECK(cu.cuTensorMapReplaceAddress(&moved, reinterpret_cast<void*>(memory + 1024)));
  EXPECT(std::memcmp(&moved, &second, sizeof second) == 0);
  EXPECT_RESULT(kInvalid, encode(&first, memory + 4, 2));
  EXPECT_RESULT(kInvalid, encode(&first, memory, 0));
  EXPECT_RESULT(kInvalid, encode(&first, memory, 6));
  EXPECT_RESULT(kInvalid, encode(nullptr, memory, 2));
  say("tensor maps");
}

}  // namespace

int main() {
  open_device();
  const CUDA_ARRAY3D_DESCRIPTOR descriptor{
      64, 32, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
  CUarray array{};
  CUdeviceptr memory{};
  CHECK(cu.cuArray3DCreate_v2(&array, &descriptor));
  CHECK(cu.cuMemAlloc_v2(&memory, 65536));
  check_arrays(array);
  check_mipmap();
  check_linear(memory);
  check_reference(array);
  check_tensor_maps(memory);
  CHECK(cu.cuMemFree_v2(memory));
  CHECK(cu.cuArrayDestroy(array));
}
