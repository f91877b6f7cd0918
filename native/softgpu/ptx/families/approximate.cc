// rcp sqrt rsqrt (correctly rounded, which is within the bound of the approximate forms too) and sin
// cos ex2 lg2 tanh (computed in double precision, rounded once).
#include <bit>
#include <cmath>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

[[gnu::always_inline]] inline float canonical(float v) { return v != v ? std::bit_cast<float>(kNan32) : v; }
[[gnu::always_inline]] inline double canonical(double v) { return v; }

[[gnu::always_inline]] inline float flushed(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  return (bits & 0x7f800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : v;
}

enum class Function : uint8_t { kSin, kCos, kEx2, kLg2, kTanh, kRsqrt };

template <Function kFunction>
double evaluate(double x) {
  switch (kFunction) {
    case Function::kSin:
      return std::sin(x);
    case Function::kCos:
      return std::cos(x);
    case Function::kEx2:
      return std::exp2(x);
    case Function::kLg2:
      return std::log2(x);
    case Function::kTanh:
      return std::tanh(x);
    default:
      return 1.0 / std::sqrt(x);
  }
}

// Flushing is done by hand: the C library must run with denormals and rounding to nearest.
template <Function kFunction>
const Inst* transcendental(Warp& warp, const Inst* in) {
  use_float_mode(warp, kNearest);
  const float* const a = warp.src<float>(in->src[0]);
  const bool flush = in->flags != 0;
  return each_active<float>(warp, in, [=](uint32_t i) {
    const float x = flush ? flushed(a[i]) : a[i];
    const float y = static_cast<float>(evaluate<kFunction>(static_cast<double>(x)));
    return canonical(flush ? flushed(y) : y);
  });
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 work on the upper halves: 20 bits of significand.
template <bool kRoot>
const Inst* rough(Warp& warp, const Inst* in) {
  use_float_mode(warp, kNearest);
  const uint64_t* const a = warp.src<uint64_t>(in->src[0]);
  return each_active<uint64_t>(warp, in, [=](uint32_t i) {
    constexpr uint64_t kHigh = 0xffffffff00000000u;
    constexpr uint64_t kExponent = 0x7ff0000000000000u;
    uint64_t bits = a[i] & kHigh;
    if ((a[i] & kExponent) == 0) bits = a[i] & 0x8000000000000000u;  // denormals count as zero
    const double x = std::bit_cast<double>(bits);
    const double y = kRoot ? 1.0 / std::sqrt(x) : 1.0 / x;
    if (y != y) return uint64_t{0x7fffffff00000000u};
    uint64_t result = std::bit_cast<uint64_t>(y) & kHigh;
    if ((result & kExponent) == 0) result &= 0x8000000000000000u;
    return result;
  });
}

}  // namespace

void select_root(Emitter& e) {
  const Type type = e.type(0);
  const std::string_view name = e.in().name;
  const bool approximate = e.has("approx");
  if (type == Type::kF64 && approximate && name != "sqrt") {
    const bool flush = e.has("ftz");
    const Slot d = e.destination(0, type), a = e.source(1, type);
    if (flush) {
      e.emit(name == "rcp" ? rough<false> : rough<true>, d, {a});
    } else {
      if (name == "rcp") e.invalid(".approx.f64 needs .ftz");
      e.emit(float_unary<double, double>([](double x) { return 1.0 / std::sqrt(x); }), d, {a});
    }
    return;
  }
  const uint8_t mode = e.float_mode();
  const Slot d = e.destination(0, type), a = e.source(1, type);
  if (name == "rsqrt") {
    if (type != Type::kF32) e.unsupported("the type is not supported");
    e.emit(transcendental<Function::kRsqrt>, d, {a}).flags = (mode & kFlush) != 0 ? 1 : 0;
    return;
  }
  const bool root = name == "sqrt";
  if (type == Type::kF32) {
    e.emit(root ? float_unary<float, float>([](float x) { return canonical(__builtin_sqrtf(x)); })
                : float_unary<float, float>([](float x) { return canonical(1.0f / x); }),
           d, {a})
        .float_mode = mode;
  } else if (type == Type::kF64) {
    e.emit(root ? float_unary<double, double>([](double x) { return canonical(__builtin_sqrt(x)); })
                : float_unary<double, double>([](double x) { return canonical(1.0 / x); }),
           d, {a})
        .float_mode = mode;
  } else {
    e.unsupported("the type is not supported");
  }
}

void select_transcendental(Emitter& e) {
  e.has("approx");
  const bool flush = e.has("ftz");
  const Type type = e.type(0);
  if (type != Type::kF32) e.unsupported("the type is not supported");
  const std::string_view name = e.in().name;
  const Handler handler = name == "sin"   ? transcendental<Function::kSin>
                          : name == "cos" ? transcendental<Function::kCos>
                          : name == "ex2" ? transcendental<Function::kEx2>
                          : name == "lg2" ? transcendental<Function::kLg2>
                                          : transcendental<Function::kTanh>;
  const Slot d = e.destination(0, type), a = e.source(1, type);
  e.emit(handler, d, {a}).flags = flush ? 1 : 0;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
