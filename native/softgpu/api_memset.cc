// Filling memory with a value of one, two or four bytes.
#include <algorithm>
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/node_params.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

constexpr size_t kBriefBytes = 64 * 1024;

class FillOperation : public Operation {
 public:
  FillOperation(uint64_t address, size_t pitch, uint32_t value, size_t element, size_t width, size_t height)
      : address_(address), pitch_(pitch), value_(value), element_(element), width_(width), height_(height) {}

  CUresult run(Stream&) override {
    for (size_t row = 0; row < height_; ++row) {
      auto* at = reinterpret_cast<unsigned char*>(address_ + row * pitch_);
      if (element_ == 1) {
        std::memset(at, static_cast<int>(value_), width_);
      } else if (element_ == 2) {
        std::fill_n(reinterpret_cast<uint16_t*>(at), width_, static_cast<uint16_t>(value_));
      } else {
        std::fill_n(reinterpret_cast<uint32_t*>(at), width_, value_);
      }
    }
    return CUDA_SUCCESS;
  }
  bool occupies_device() const override { return !is_brief(); }
  bool is_brief() const override { return width_ * height_ * element_ <= kBriefBytes; }

 private:
  const uint64_t address_;
  const size_t pitch_;
  const uint32_t value_;
  const size_t element_;
  const size_t width_;
  const size_t height_;
};

// width counts elements. The synchronous forms, too, return before the device has done it, unless the memory
// is the host's.
CUresult fill(CUdeviceptr address, size_t pitch, uint32_t value, size_t element, size_t width, size_t height,
              CUstream stream_handle, bool synchronous) {
  Context* context;
  if (const auto* own = lookup<Stream>(stream_handle); own != nullptr) {
    context = own->context.get();
  } else {
    SLUICE_TRY(current_context(&context));
  }
  SLUICE_TRY(context->error());
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(context->resolve_stream(stream_handle, &stream));
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  size_t row_bytes, total;
  if (__builtin_mul_overflow(width, element, &row_bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (height > 1 && (pitch < row_bytes || pitch % element != 0)) return CUDA_ERROR_INVALID_VALUE;
  if (__builtin_mul_overflow(pitch, height - 1, &total) || __builtin_add_overflow(total, row_bytes, &total)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (address % element != 0) return CUDA_ERROR_INVALID_VALUE;
  SLUICE_TRY(check_range(*context, address, total));
  CUresult result = CUDA_SUCCESS;
  const auto as_node = [&](Work* work) {
    return make_fill_work({address, height == 1 ? row_bytes : pitch, value, static_cast<unsigned>(element),
                           width, height, context->handle()},
                          work);
  };
  if (captured(*stream, as_node, &result)) return result;
  const uint64_t number = context->submit(
      *stream, std::make_unique<FillOperation>(address, pitch, value, element, width, height));
  const auto found = memory_registry().find(address);
  if (synchronous && found && found->on_host()) {
    stream->wait_for(number);
    return context->error();
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t n),
                return fill(to, 0, value, 1, n, 1, pick(nullptr), true);)
SLUICE_API_PAIR(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t n),
                return fill(to, 0, value, 2, n, 1, pick(nullptr), true);)
SLUICE_API_PAIR(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned value, size_t n),
                return fill(to, 0, value, 4, n, 1, pick(nullptr), true);)
SLUICE_API_PAIR(cuMemsetD2D8_v2, _ptds,
                (CUdeviceptr to, size_t pitch, unsigned char value, size_t w, size_t h),
                return fill(to, pitch, value, 1, w, h, pick(nullptr), true);)
SLUICE_API_PAIR(cuMemsetD2D16_v2, _ptds,
                (CUdeviceptr to, size_t pitch, unsigned short value, size_t w, size_t h),
                return fill(to, pitch, value, 2, w, h, pick(nullptr), true);)
SLUICE_API_PAIR(cuMemsetD2D32_v2, _ptds, (CUdeviceptr to, size_t pitch, unsigned value, size_t w, size_t h),
                return fill(to, pitch, value, 4, w, h, pick(nullptr), true);)
SLUICE_API_PAIR(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, size_t n, CUstream stream),
                return fill(to, 0, value, 1, n, 1, pick(stream), false);)
SLUICE_API_PAIR(cuMemsetD16Async, _ptsz, (CUdeviceptr to, unsigned short value, size_t n, CUstream stream),
                return fill(to, 0, value, 2, n, 1, pick(stream), false);)
SLUICE_API_PAIR(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned value, size_t n, CUstream stream),
                return fill(to, 0, value, 4, n, 1, pick(stream), false);)
SLUICE_API_PAIR(cuMemsetD2D8Async, _ptsz,
                (CUdeviceptr to, size_t pitch, unsigned char value, size_t w, size_t h, CUstream stream),
                return fill(to, pitch, value, 1, w, h, pick(stream), false);)
SLUICE_API_PAIR(cuMemsetD2D16Async, _ptsz,
                (CUdeviceptr to, size_t pitch, unsigned short value, size_t w, size_t h, CUstream stream),
                return fill(to, pitch, value, 2, w, h, pick(stream), false);)
SLUICE_API_PAIR(cuMemsetD2D32Async, _ptsz,
                (CUdeviceptr to, size_t pitch, unsigned value, size_t w, size_t h, CUstream stream),
                return fill(to, pitch, value, 4, w, h, pick(stream), false);)

namespace sluice::softgpu {

std::span<const Entry> memset_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuMemsetD8", 3020, cuMemsetD8_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemsetD16", 3020, cuMemsetD16_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemsetD32", 3020, cuMemsetD32_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemsetD2D8", 3020, cuMemsetD2D8_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemsetD2D16", 3020, cuMemsetD2D16_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemsetD2D32", 3020, cuMemsetD2D32_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemsetD8Async", 3020, cuMemsetD8Async, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemsetD16Async", 3020, cuMemsetD16Async, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemsetD32Async", 3020, cuMemsetD32Async, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemsetD2D8Async", 3020, cuMemsetD2D8Async, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemsetD2D16Async", 3020, cuMemsetD2D16Async, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemsetD2D32Async", 3020, cuMemsetD2D32Async, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
