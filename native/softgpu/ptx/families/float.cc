// f32 and f64 arithmetic: add sub mul fma mad div min max abs neg copysign testp.
// Rounding and flushing come from MXCSR. An f32 result that is a NaN is the canonical one; an f64
// result keeps an operand's payload, as the ISA says for double precision.
#include <bit>
#include <cmath>
#include <limits>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

[[gnu::always_inline]] inline float canonical(float v) { return v != v ? std::bit_cast<float>(kNan32) : v; }
[[gnu::always_inline]] inline double canonical(double v) { return v; }

// .sat: to [0, 1], NaN to +0.
[[gnu::always_inline]] inline float saturate(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }
[[gnu::always_inline]] inline double saturate(double v) { return v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0; }

template <class T>
constexpr T kSmallestNormal = std::numeric_limits<T>::min();

// Sign-preserving flush for operations that MXCSR does not cover (moves of a value).
template <class T>
[[gnu::always_inline]] inline T flushed(T v) {
  return std::fabs(v) < kSmallestNormal<T> ? std::copysign(T{0}, v) : v;
}

template <class T>
[[gnu::always_inline]] inline T fused(T a, T b, T c) {
  if constexpr (sizeof(T) == 4)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
}

template <class F>
void with_float(Emitter& e, Type type, F f) {
  if (type == Type::kF32) return f.template operator()<float>();
  if (type == Type::kF64) return f.template operator()<double>();
  e.unsupported("the type is not supported");
}

template <class T>
[[gnu::always_inline]] inline bool is_nan(T v) {
  return v != v;
}

enum class Pick : uint8_t { kMin, kMax };

// The ISA's minimum: -0 below +0, a NaN loses against a number unless .NaN asks to keep it.
template <class T, bool kMin, bool kNan, bool kXorSign>
T pick(T a, T b, bool flush) {
  if (flush) {
    a = flushed(a);
    b = flushed(b);
  }
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
  const U sign = (std::bit_cast<U>(a) ^ std::bit_cast<U>(b)) & kSign;
  if (kXorSign) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T result;
  if (kNan && (is_nan(a) || is_nan(b))) {
    result = sizeof(T) == 4 ? std::bit_cast<T>(static_cast<U>(kNan32)) : (is_nan(a) ? a : b);
    return result;
  }
  if (is_nan(a)) {
    result = canonical(b);
  } else if (is_nan(b)) {
    result = a;
  } else if (a == b) {
    const bool negative = std::signbit(a);
    result = (kMin ? negative : !negative) ? a : b;
  } else {
    result = (kMin ? a < b : b < a) ? a : b;
  }
  if (kXorSign && !is_nan(result)) result = std::bit_cast<T>((std::bit_cast<U>(result) & ~kSign) | sign);
  return result;
}

template <class T, bool kMin, bool kNan, bool kXorSign>
const Inst* minmax(Warp& warp, const Inst* in) {
  const T* const a = warp.src<T>(in->src[0]);
  const T* const b = warp.src<T>(in->src[1]);
  use_float_mode(warp, kNearest);
  if ((in->flags & 1) != 0) {
    return each<T>(warp, in, [=](uint32_t i) { return pick<T, kMin, kNan, kXorSign>(a[i], b[i], true); });
  }
  return each<T>(warp, in, [=](uint32_t i) { return pick<T, kMin, kNan, kXorSign>(a[i], b[i], false); });
}

}  // namespace

void select_float_add(Emitter& e) {
  const Type type = e.type(0);
  const uint8_t mode = e.float_mode();
  const bool sat = e.has("sat");
  const std::string_view name = e.in().name;
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  with_float(e, type, [&]<class T>() {
    Handler handler = nullptr;
    if (name == "add") {
      handler = sat ? float_binary<T, T, T>([](T x, T y) { return saturate(x + y); })
                    : float_binary<T, T, T>([](T x, T y) { return canonical(x + y); });
    } else if (name == "sub") {
      handler = sat ? float_binary<T, T, T>([](T x, T y) { return saturate(x - y); })
                    : float_binary<T, T, T>([](T x, T y) { return canonical(x - y); });
    } else {
      handler = sat ? float_binary<T, T, T>([](T x, T y) { return saturate(x * y); })
                    : float_binary<T, T, T>([](T x, T y) { return canonical(x * y); });
    }
    e.emit(handler, d, {a, b}).float_mode = mode;
  });
}

// mad on floating-point types is fma (for every target from sm_20 on).
void select_float_fma(Emitter& e) {
  const Type type = e.type(0);
  const uint8_t mode = e.float_mode();
  const bool sat = e.has("sat");
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type), c = e.source(3, type);
  with_float(e, type, [&]<class T>() {
    e.emit(sat ? float_ternary<T, T, T, T>([](T x, T y, T z) { return saturate(fused(x, y, z)); })
               : float_ternary<T, T, T, T>([](T x, T y, T z) { return canonical(fused(x, y, z)); }),
           d, {a, b, c})
        .float_mode = mode;
  });
}

void select_float_div(Emitter& e) {
  const Type type = e.type(0);
  // .approx and .full allow an error; the correctly rounded quotient is within it. For .approx the ISA
  // wants 0 when 2^126 < |b| < 2^128 makes the reciprocal a denormal and it is flushed; without a table
  // of the hardware's choice, the true quotient is the better answer.
  e.has_any({"approx", "full"});
  const uint8_t mode = e.float_mode();
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  with_float(e, type, [&]<class T>() {
    e.emit(float_binary<T, T, T>([](T x, T y) { return canonical(x / y); }), d, {a, b}).float_mode = mode;
  });
}

void select_float_minmax(Emitter& e) {
  const Type type = e.type(0);
  const bool is_min = e.in().name == "min";
  const bool flush = e.has("ftz"), nan = e.has("NaN"), sign = e.has("xorsign");
  e.has("abs");
  if (e.operand_count() == 4) e.unsupported("the form with three operands is not supported");
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  with_float(e, type, [&]<class T>() {
    const Handler handler =
        sign ? (nan ? (is_min ? minmax<T, true, true, true> : minmax<T, false, true, true>)
                    : (is_min ? minmax<T, true, false, true> : minmax<T, false, false, true>))
             : (nan ? (is_min ? minmax<T, true, true, false> : minmax<T, false, true, false>)
                    : (is_min ? minmax<T, true, false, false> : minmax<T, false, false, false>));
    e.emit(handler, d, {a, b}).flags = flush ? 1 : 0;
  });
}

void select_float_sign(Emitter& e) {
  const Type type = e.type(0);
  const bool is_abs = e.in().name == "abs";
  const bool flush = e.has("ftz");
  const Slot d = e.destination(0, type), a = e.source(1, type);
  with_float(e, type, [&]<class T>() {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
    constexpr U kSmall = std::bit_cast<U>(kSmallestNormal<T>);
    const auto flush_bits = [](U v) { return (v & ~kSign) < kSmall ? v & kSign : v; };
    (void)flush_bits;
    using Flush = decltype(flush_bits);
    e.emit(is_abs ? (flush ? unary<U, U>([](U v) { return static_cast<U>(Flush{}(v) & ~kSign); })
                           : unary<U, U>([](U v) { return static_cast<U>(v & ~kSign); }))
                  : (flush ? unary<U, U>([](U v) { return static_cast<U>(Flush{}(v) ^ kSign); })
                           : unary<U, U>([](U v) { return static_cast<U>(v ^ kSign); })),
           d, {a});
  });
}

// copysign d, a, b: the sign of a on the magnitude of b.
void select_copysign(Emitter& e) {
  const Type type = e.type(0);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  with_float(e, type, [&]<class T>() {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
    e.emit(binary<U, U, U>([](U x, U y) { return static_cast<U>((x & kSign) | (y & ~kSign)); }), d, {a, b});
  });
}

namespace {

template <class U, class F>
Handler test(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    const U* const a = warp.src<U>(in->src[0]);
    warp.set_predicate(in->dst, lane_bits([=](uint32_t i) { return F{}(a[i]); }));
    return in + 1;
  };
}

}  // namespace

void select_testp(Emitter& e) {
  const Type type = e.type(0);
  const Slot d = e.predicate_destination(e.operand(0)), a = e.source(1, type);
  with_float(e, type, [&]<class T>() {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr U kMagnitude = (U{1} << (sizeof(T) * 8 - 1)) - 1;
    constexpr U kInfinity = std::bit_cast<U>(std::numeric_limits<T>::infinity());
    constexpr U kNormal = std::bit_cast<U>(std::numeric_limits<T>::min());
    Handler handler = nullptr;
    if (e.has("finite")) handler = test<U>([](U v) { return (v & kMagnitude) < kInfinity; });
    if (e.has("infinite")) handler = test<U>([](U v) { return (v & kMagnitude) == kInfinity; });
    if (e.has("number")) handler = test<U>([](U v) { return (v & kMagnitude) <= kInfinity; });
    if (e.has("notanumber")) handler = test<U>([](U v) { return (v & kMagnitude) > kInfinity; });
    if (e.has("normal")) {
      handler = test<U>([](U v) { return (v & kMagnitude) >= kNormal && (v & kMagnitude) < kInfinity; });
    }
    if (e.has("subnormal")) {
      handler = test<U>([](U v) { return (v & kMagnitude) < kNormal && (v & kMagnitude) != 0; });
    }
    if (handler == nullptr) e.invalid("expected a test");
    e.emit(handler, d, {a});
  });
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
