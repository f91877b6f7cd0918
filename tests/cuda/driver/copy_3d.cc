// Copies of two and three dimensions between pageable, page-locked and device memory and arrays: every
// combination, with pitches, heights and offsets, synchronous and asynchronous.
// Round trips: 77.
#include <array>
#include <cstring>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

// A volume that the copied box is a part of.
constexpr size_t kWidth = 48, kHeight = 7, kDepth = 5;
constexpr size_t kPitch = 80, kRows = 9;
constexpr size_t kBytes = kPitch * kRows * kDepth;
constexpr size_t kX = 8, kY = 2, kZ = 1;            // where the box begins
constexpr size_t kBoxW = 24, kBoxH = 4, kBoxD = 3;  // its size

enum class Place { pageable, pinned, device, array };
constexpr std::array kPlaces{Place::pageable, Place::pinned, Place::device, Place::array};
const char* name(Place place) {
  switch (place) {
    case Place::pageable:
      return "pageable";
    case Place::pinned:
      return "pinned";
    case Place::device:
      return "device";
    case Place::array:
      break;
  }
  return "array";
}

unsigned char pattern(size_t index, unsigned seed) { return static_cast<unsigned char>(index * 7 + seed); }

// One volume in some kind of memory, filled with a pattern or zeros.
struct Volume {
  Place place;
  std::vector<unsigned char> pageable;
  void* host = nullptr;
  CUdeviceptr device = 0;
  CUarray array = nullptr;

  explicit Volume(Place where) : place(where) {
    switch (place) {
      case Place::pageable:
        pageable.resize(kBytes);
        host = pageable.data();
        break;
      case Place::pinned:
        CHECK(cu.cuMemHostAlloc(&host, kBytes, 0));
        break;
      case Place::device:
        CHECK(cu.cuMemAlloc_v2(&device, kBytes));
        break;
      case Place::array: {
        const CUDA_ARRAY3D_DESCRIPTOR d{kPitch / 8, kRows, kDepth, CU_AD_FORMAT_UNSIGNED_INT16, 4, 0};
        CHECK(cu.cuArray3DCreate_v2(&array, &d));
        break;
      }
    }
  }
  ~Volume() {
    if (place == Place::pinned) CHECK(cu.cuMemFreeHost(host));
    if (device != 0) CHECK(cu.cuMemFree_v2(device));
    if (array != nullptr) CHECK(cu.cuArrayDestroy(array));
  }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  void as_source(CUDA_MEMCPY3D& c) const {
    c.srcMemoryType = host != nullptr    ? CU_MEMORYTYPE_HOST
                      : array != nullptr ? CU_MEMORYTYPE_ARRAY
                                         : CU_MEMORYTYPE_DEVICE;
    c.srcHost = host;
    c.srcDevice = device;
    c.srcArray = array;
    c.srcPitch = kPitch;
    c.srcHeight = kRows;
  }
  void as_destination(CUDA_MEMCPY3D& c) const {
    c.dstMemoryType = host != nullptr    ? CU_MEMORYTYPE_HOST
                      : array != nullptr ? CU_MEMORYTYPE_ARRAY
                                         : CU_MEMORYTYPE_DEVICE;
    c.dstHost = host;
    c.dstDevice = device;
    c.dstArray = array;
    c.dstPitch = kPitch;
    c.dstHeight = kRows;
  }
  void fill(const std::vector<unsigned char>& bytes) {
    if (host != nullptr) {
      std::memcpy(host, bytes.data(), kBytes);
      return;
    }
    CUDA_MEMCPY3D c{};
    Volume packed(Place::pageable);
    std::memcpy(packed.host, bytes.data(), kBytes);
    packed.as_source(c);
    as_destination(c);
    c.WidthInBytes = kPitch;
    c.Height = kRows;
    c.Depth = kDepth;
    CHECK(cu.cuMemcpy3D_v2(&c));
  }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> out(kBytes);
    if (host != nullptr) {
      std::memcpy(out.data(), host, kBytes);
      return out;
    }
    CUDA_MEMCPY3D c{};
    as_source(c);
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = out.data();
    c.dstPitch = kPitch;
    c.dstHeight = kRows;
    c.WidthInBytes = kPitch;
    c.Height = kRows;
    c.Depth = kDepth;
    CHECK(cu.cuMemcpy3D_v2(&c));
    return out;
  }
};

void check_box(Place to, Place from, bool asynchronous, CUstream stream) {
  std::vector<unsigned char> source(kBytes), zeros(kBytes);
  for (size_t i = 0; i < kBytes; i++) source[i] = pattern(i, static_cast<unsigned>(from));
  Volume src(from), dst(to);
  src.fill(source);
  dst.fill(zeros);
  CUDA_MEMCPY3D c{};
  src.as_source(c);
  dst.as_destination(c);
  c.srcXInBytes = kX;
  c.srcY = kY;
  c.srcZ = kZ;
  c.dstXInBytes = kX + 8;
  c.dstY = kY - 1;
  c.dstZ = kZ + 1;
  c.WidthInBytes = kBoxW;
  c.Height = kBoxH;
  c.Depth = kBoxD;
  if (asynchronous) {
    CHECK(cu.cuMemcpy3DAsync_v2(&c, stream));
    CHECK(cu.cuStreamSynchronize(stream));
  } else {
    CHECK(cu.cuMemcpy3D_v2(&c));
  }
  for (size_t z = 0; z < kBoxD; z++) {
    for (size_t y = 0; y < kBoxH; y++) {
      std::memcpy(zeros.data() + ((kZ + 1 + z) * kRows + kY - 1 + y) * kPitch + kX + 8,
                  source.data() + ((kZ + z) * kRows + kY + y) * kPitch + kX, kBoxW);
    }
  }
  // What is around the box stays as it was.
  EXPECT(dst.read() == zeros);
}

void check_errors() {
  Volume host(Place::pageable), device(Place::device), array(Place::array);
  const auto expect = [&](CUresult result, const Volume& dst, const Volume& src, auto&& change) {
    CUDA_MEMCPY3D wrong{};
    src.as_source(wrong);
    dst.as_destination(wrong);
    wrong.WidthInBytes = kBoxW;
    wrong.Height = kBoxH;
    wrong.Depth = kBoxD;
    change(wrong);
    EXPECT_RESULT(result, cu.cuMemcpy3D_v2(&wrong));
    EXPECT_RESULT(result, cu.cuMemcpy3DAsync_v2(&wrong, nullptr));
  };
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  expect(CUDA_SUCCESS, device, host, [](CUDA_MEMCPY3D& w) { w.Depth = 0; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstPitch = kBoxW - 1; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstHeight = kBoxH - 1; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstZ = kDepth; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.srcHost = nullptr; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstDevice = 0x1000; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstLOD = 1; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstY = SIZE_MAX - 1; });
  expect(kInvalid, device, host, [](CUDA_MEMCPY3D& w) { w.dstPitch = SIZE_MAX / 2; });
  expect(kInvalid, host, array, [](CUDA_MEMCPY3D& w) { w.srcXInBytes = 4; });
  expect(kInvalid, host, array, [](CUDA_MEMCPY3D& w) { w.srcXInBytes = kPitch - kBoxW + 8; });
  expect(kInvalid, host, array, [](CUDA_MEMCPY3D& w) { w.srcY = kRows - 1; });
  expect(kInvalid, array, host, [](CUDA_MEMCPY3D& w) { w.dstZ = kDepth - 1; });
  expect(kInvalid, array, host, [](CUDA_MEMCPY3D& w) { w.WidthInBytes = 12; });
  expect(CUDA_ERROR_INVALID_HANDLE, array, host, [](CUDA_MEMCPY3D& w) { w.dstArray = nullptr; });
  EXPECT_RESULT(kInvalid, cu.cuMemcpy3D_v2(nullptr));
}

// Unaligned widths and no pitch given: rows follow each other without gaps.
void check_2d() {
  constexpr size_t kW = 13, kH = 6;
  std::vector<unsigned char> source(kW * kH), back(kW * kH);
  for (size_t i = 0; i < source.size(); i++) source[i] = pattern(i, 3);
  CUdeviceptr device = 0;
  CHECK(cu.cuMemAlloc_v2(&device, 64 * kH));
  CUDA_MEMCPY2D up{};
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = source.data();
  up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  up.dstDevice = device;
  up.dstXInBytes = 3;
  up.dstPitch = 63;
  up.WidthInBytes = kW;
  up.Height = kH;
  CHECK(cu.cuMemcpy2DUnaligned_v2(&up));
  CUDA_MEMCPY2D down{};
  down.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  down.srcDevice = device;
  down.srcXInBytes = 3;
  down.srcPitch = 63;
  down.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  down.dstDevice = reinterpret_cast<CUdeviceptr>(back.data());
  down.WidthInBytes = kW;
  down.Height = kH;
  CHECK(cu.cuMemcpy2D_v2(&down));
  EXPECT(back == source);
  CHECK(cu.cuMemFree_v2(device));
}

}  // namespace

int main() {
  open_device();
  CUstream stream{};
  CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (const Place to : kPlaces) {
    for (const Place from : kPlaces) {
      for (const bool asynchronous : {false, true}) check_box(to, from, asynchronous, stream);
      say("%s to %s", name(from), name(to));
    }
  }
  check_errors();
  check_2d();
  CHECK(cu.cuStreamDestroy_v2(stream));
  say("errors and unaligned rows");
}
