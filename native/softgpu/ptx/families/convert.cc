// cvt between all integer and floating-point types, and cvt.pack.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "softgpu/ptx/families/families.h"
#include "softgpu/ptx/families/half.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

enum : uint16_t { kSaturate = 1, kFlushed = 2, kRelu = 4, kIntegral = 8, kFinite = 16, kAway = 32 };

// How a PTX type is stored in a slot and what C++ type stands for its value.
template <class V>
struct IntegerKind {
  using Stored = std::conditional_t<sizeof(V) == 1, uint16_t, std::make_unsigned_t<V>>;
  using Value = V;
  static V load(Stored s) { return static_cast<V>(s); }
  static Stored store(V v) { return static_cast<Stored>(v); }  // 8-bit values extend to their slot
};
struct F32Kind {
  using Stored = float;
  using Value = float;
};
struct F64Kind {
  using Stored = double;
  using Value = double;
};
template <class H>
struct SmallKind {
  using Stored = uint16_t;
  using Value = H;
};

template <class K>
constexpr bool kIsInteger = std::is_integral_v<typename K::Value>;

[[gnu::always_inline]] inline float flush_bits(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  return (bits & 0x7f800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : v;
}

// A value on its way to a format: .sat, .relu and, with the format's largest value, .satfinite.
[[gnu::always_inline]] inline double clamp(double v, uint16_t flags, double largest) {
  if ((flags & kSaturate) != 0) v = v > 0 ? (v < 1 ? v : 1.0) : 0.0;
  if ((flags & kRelu) != 0 && v < 0) v = 0;
  if ((flags & kFinite) != 0) v = v > largest ? largest : v < -largest ? -largest : v;
  return v;
}

// Integer to integer: truncation or extension; .sat clamps to the destination's range.
template <class To, class From>
const Inst* integer_to_integer(Warp& warp, const Inst* in) {
  using D = typename To::Value;
  using S = typename From::Value;
  const auto* const a = warp.src<typename From::Stored>(in->src[0]);
  if ((in->flags & kSaturate) == 0) {
    return each<typename To::Stored>(warp, in,
                                     [=](uint32_t i) { return To::store(static_cast<D>(From::load(a[i]))); });
  }
  return each<typename To::Stored>(warp, in, [=](uint32_t i) {
    const S v = From::load(a[i]);
    D d = static_cast<D>(v);
    if (std::cmp_less(v, std::numeric_limits<D>::min())) d = std::numeric_limits<D>::min();
    if (std::cmp_greater(v, std::numeric_limits<D>::max())) d = std::numeric_limits<D>::max();
    return To::store(d);
  });
}

// A 64-bit integer as a double with everything below the 53rd bit gathered in a sticky bit: good for
// one more rounding to fewer bits.
template <class S>
double sticky(S v) {
  if constexpr (sizeof(S) < 8) {
    return static_cast<double>(v);
  } else {
    const bool negative = v < 0;
    uint64_t m = negative ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    if (m >> 53 != 0) {
      const bool rest = (m & 0x7ff) != 0;
      m &= ~uint64_t{0x7ff};
      if (rest) m |= 0x800;
    }
    const double d = static_cast<double>(m);
    return negative ? -d : d;
  }
}

template <class To, class From>
const Inst* integer_to_float(Warp& warp, const Inst* in) {
  const auto* const a = warp.src<typename From::Stored>(in->src[0]);
  using D = typename To::Stored;
  if constexpr (std::is_same_v<To, F32Kind> || std::is_same_v<To, F64Kind>) {
    use_float_mode(warp, in->float_mode & 3);
    const bool saturated = (in->flags & kSaturate) != 0;
    return each<D>(warp, in, [=](uint32_t i) {
      D v;
      if constexpr (std::is_same_v<typename From::Value, uint32_t>) {
        v = static_cast<D>(static_cast<int64_t>(a[i]));
      } else {
        v = static_cast<D>(From::load(a[i]));
      }
      return saturated ? (v > 0 ? (v < 1 ? v : D{1}) : D{0}) : v;
    });
  } else {
    use_float_mode(warp, kNearest);
    const uint8_t mode = in->float_mode & 3;
    const uint16_t flags = in->flags;
    return each_active<uint16_t>(warp, in, [=](uint32_t i) {
      double v = sticky(From::load(a[i]));
      if ((flags & kSaturate) != 0) v = v > 0 ? (v < 1 ? v : 1.0) : 0.0;
      return To::Value::from(v, mode);
    });
  }
}

template <class From>
[[gnu::always_inline]] inline double as_double(typename From::Stored s, bool flush) {
  if constexpr (std::is_same_v<From, F64Kind>) {
    return s;
  } else if constexpr (std::is_same_v<From, F32Kind>) {
    return static_cast<double>(flush ? flush_bits(s) : s);
  } else {
    return static_cast<double>(From::Value::to_float(s));
  }
}

[[gnu::always_inline]] inline double integral(double v, uint8_t mode) {
  switch (mode & 3) {
    case kNearest:
      return __builtin_nearbyint(v);  // MXCSR rounds to nearest even here
    case kDown:
      return __builtin_floor(v);
    case kUp:
      return __builtin_ceil(v);
    default:
      return __builtin_trunc(v);
  }
}

// Out of range clamps. A NaN becomes 0, except where 64-bit types take part: then only the top bit is
// set (PTX ISA, cvt).
template <class To, class From>
const Inst* float_to_integer(Warp& warp, const Inst* in) {
  using D = typename To::Value;
  use_float_mode(warp, kNearest);
  const auto* const a = warp.src<typename From::Stored>(in->src[0]);
  const bool flush = (in->flags & kFlushed) != 0;
  const uint8_t mode = in->float_mode & 3;
  constexpr bool kTopBit = std::is_same_v<From, F64Kind> || sizeof(D) == 8;
  constexpr double kLow = static_cast<double>(std::numeric_limits<D>::min());
  constexpr double kBeyond = sizeof(D) == 8 ? (std::is_signed_v<D> ? 0x1p63 : 0x1p64)
                                            : static_cast<double>(std::numeric_limits<D>::max()) + 1.0;
  return each<typename To::Stored>(warp, in, [=](uint32_t i) {
    const double v = integral(as_double<From>(a[i], flush), mode);
    D d;
    if (v != v) {
      d = kTopBit ? static_cast<D>(uint64_t{1} << (sizeof(D) * 8 - 1)) : D{0};
    } else if (v < kLow) {
      d = std::numeric_limits<D>::min();
    } else if (v >= kBeyond) {
      d = std::numeric_limits<D>::max();
    } else {
      d = static_cast<D>(v);
    }
    return To::store(d);
  });
}

// Between floating-point types, and to an integral value within one.
template <class To, class From>
const Inst* float_to_float(Warp& warp, const Inst* in) {
  const auto* const a = warp.src<typename From::Stored>(in->src[0]);
  using D = typename To::Stored;
  const uint16_t flags = in->flags;
  const uint8_t mode = in->float_mode & 3;
  if constexpr (std::is_same_v<To, F64Kind> || std::is_same_v<To, F32Kind>) {
    // Narrowing f64 → f32 rounds as MXCSR says; everything else is exact.
    use_float_mode(warp, (flags & kIntegral) != 0 ? uint8_t{kNearest} : mode);
    return each<D>(warp, in, [=](uint32_t i) {
      const bool flush = (flags & kFlushed) != 0;
      double v = as_double<From>(a[i], flush);
      if ((flags & kIntegral) != 0) v = integral(v, mode);
      D d;
      if constexpr (std::is_same_v<To, F32Kind>) {
        d = static_cast<float>(v);
        if (flush) d = flush_bits(d);
        if (d != d) d = std::bit_cast<float>(kNan32);
      } else {
        d = v;
      }
      if ((flags & kSaturate) != 0) d = d > 0 ? (d < 1 ? d : D{1}) : D{0};
      if ((flags & kRelu) != 0 && d < 0) d = 0;
      return d;
    });
  } else {
    use_float_mode(warp, kNearest);
    return each_active<uint16_t>(warp, in, [=](uint32_t i) {
      double v = as_double<From>(a[i], (flags & kFlushed) != 0);
      if ((flags & kIntegral) != 0) v = integral(v, mode);
      v = clamp(v, flags, To::Value::kLargest);
      return To::Value::from(v, (flags & kIntegral) != 0 ? uint8_t{kNearest} : mode);
    });
  }
}

template <class To, class From>
Handler handler_for() {
  if constexpr (kIsInteger<To> && kIsInteger<From>) return integer_to_integer<To, From>;
  if constexpr (!kIsInteger<To> && kIsInteger<From>) return integer_to_float<To, From>;
  if constexpr (kIsInteger<To> && !kIsInteger<From>) return float_to_integer<To, From>;
  if constexpr (!kIsInteger<To> && !kIsInteger<From>) return float_to_float<To, From>;
}

template <class F>
Handler with_kind(Emitter& e, Type type, F f) {
  switch (type) {
    case Type::kU8:
    case Type::kB8:
      return f.template operator()<IntegerKind<uint8_t>>();
    case Type::kS8:
      return f.template operator()<IntegerKind<int8_t>>();
    case Type::kU16:
    case Type::kB16:
      return f.template operator()<IntegerKind<uint16_t>>();
    case Type::kS16:
      return f.template operator()<IntegerKind<int16_t>>();
    case Type::kU32:
    case Type::kB32:
      return f.template operator()<IntegerKind<uint32_t>>();
    case Type::kS32:
      return f.template operator()<IntegerKind<int32_t>>();
    case Type::kU64:
    case Type::kB64:
      return f.template operator()<IntegerKind<uint64_t>>();
    case Type::kS64:
      return f.template operator()<IntegerKind<int64_t>>();
    case Type::kF32:
      return f.template operator()<F32Kind>();
    case Type::kF64:
      return f.template operator()<F64Kind>();
    case Type::kF16:
      return f.template operator()<SmallKind<Half>>();
    case Type::kBF16:
      return f.template operator()<SmallKind<Bfloat>>();
    default:
      e.unsupported("the conversion is not supported");
  }
}

// cvt.rn.f16x2.f32 d, a, b: a to the upper half, b to the lower.
template <class H>
const Inst* pack_halves(Warp& warp, const Inst* in) {
  use_float_mode(warp, kNearest);
  const float* const a = warp.src<float>(in->src[0]);
  const float* const b = warp.src<float>(in->src[1]);
  const uint16_t flags = in->flags;
  const uint8_t mode = in->float_mode & 3;
  return each_active<uint32_t>(warp, in, [=](uint32_t i) {
    const auto one = [&](float f) {
      return static_cast<uint32_t>(H::from(clamp(widen(f), flags, H::kLargest), mode));
    };
    return one(a[i]) << 16 | one(b[i]);
  });
}

// tf32: 10 bits of significand in an f32; .rna rounds half away from zero.
const Inst* to_tf32(Warp& warp, const Inst* in) {
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const uint16_t flags = in->flags;
  const bool away = (flags & kAway) != 0;
  const bool toward_zero = in->float_mode == kTowardZero;
  return each<uint32_t>(warp, in, [=](uint32_t i) {
    constexpr uint32_t kInfinity = 0x7f800000u, kLargest = 0x7f7fe000u, kSign = 0x80000000u;
    uint32_t v = a[i];
    if ((v & ~kSign) > kInfinity) return kNan32;
    if ((flags & kRelu) != 0 && (v & kSign) != 0) v = 0;
    if ((v & ~kSign) != kInfinity) {
      const uint32_t add = away ? 0x1000u : toward_zero ? 0u : 0xfffu + (v >> 13 & 1);
      v = (v + add) & ~0x1fffu;
    }
    if ((flags & kFinite) != 0 && (v & ~kSign) == kInfinity) v = (v & kSign) | kLargest;
    return v;
  });
}

// The 8-bit formats. Conversions to them saturate (.satfinite is required), so the infinities of e5m2
// are only ever read; e4m3 has none, and spends its last exponent on values up to 448.
struct E4M3 {
  static constexpr double kLargest = 448.0;
  static uint32_t from(double v) {
    if (v != v) return 0x7f;
    // One exponent down and up again where narrow_double would see an infinity.
    if (v >= 128.0 || v <= -128.0) return narrow_double<4, 3>(v * 0.5, kNearest) + 8u;
    return narrow_double<4, 3>(v, kNearest);
  }
  static uint16_t to_half(uint32_t v) {
    if ((v & 0x7f) == 0x7f) return kNan16;
    const auto sign = static_cast<uint16_t>((v & 0x80) << 8);
    const uint32_t exponent = v >> 3 & 15, significand = v & 7;
    if (exponent != 0) return static_cast<uint16_t>(sign | (exponent + 8) << 10 | significand << 7);
    return static_cast<uint16_t>(sign | double_to_half(static_cast<double>(significand) * 0x1p-9, kNearest));
  }
};
struct E5M2 {
  static constexpr double kLargest = 57344.0;
  static uint32_t from(double v) { return v != v ? 0x7f : narrow_double<5, 2>(v, kNearest); }
  static uint16_t to_half(uint32_t v) { return (v & 0x7f) > 0x7c ? kNan16 : static_cast<uint16_t>(v << 8); }
};

template <class Q>
uint16_t quarters(double high, double low, uint16_t flags) {
  return static_cast<uint16_t>(Q::from(clamp(high, flags, Q::kLargest)) << 8 |
                               Q::from(clamp(low, flags, Q::kLargest)));
}

template <class Q>
const Inst* floats_to_quarters(Warp& warp, const Inst* in) {
  const float* const a = warp.src<float>(in->src[0]);
  const float* const b = warp.src<float>(in->src[1]);
  use_float_mode(warp, kNearest);
  const uint16_t flags = in->flags;
  return each_active<uint16_t>(warp, in,
                               [=](uint32_t i) { return quarters<Q>(widen(a[i]), widen(b[i]), flags); });
}

template <class Q>
const Inst* halves_to_quarters(Warp& warp, const Inst* in) {
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  use_float_mode(warp, kNearest);
  const uint16_t flags = in->flags;
  return each_active<uint16_t>(warp, in, [=](uint32_t i) {
    const auto half = [](uint32_t v) { return static_cast<double>(half_to_float(static_cast<uint16_t>(v))); };
    return quarters<Q>(half(a[i] >> 16), half(a[i]), flags);
  });
}

template <class Q>
const Inst* quarters_to_halves(Warp& warp, const Inst* in) {
  const uint16_t* const a = warp.src<uint16_t>(in->src[0]);
  use_float_mode(warp, kNearest);
  const bool relu = (in->flags & kRelu) != 0;
  return each_active<uint32_t>(warp, in, [=](uint32_t i) {
    const auto one = [relu](uint32_t v) -> uint32_t {
      const uint16_t h = Q::to_half(v);
      return relu && (h & 0x8000) != 0 ? 0 : h;
    };
    return one(a[i] >> 8) << 16 | one(a[i] & 0xffu);
  });
}

bool is_quarter(Type type) { return type == Type::kE4M3x2 || type == Type::kE5M2x2; }

void select_quarter(Emitter& e, Type to, Type from, uint16_t flags) {
  Inst* inst = nullptr;
  if (is_quarter(to) && from == Type::kF32) {
    const Slot d = e.destination(0, Type::kB16), a = e.source(1, from), b = e.source(2, from);
    inst = &e.emit(to == Type::kE4M3x2 ? floats_to_quarters<E4M3> : floats_to_quarters<E5M2>, d, {a, b});
  } else if (is_quarter(to) && from == Type::kF16x2) {
    const Slot d = e.destination(0, Type::kB16), a = e.source(1, Type::kB32);
    inst = &e.emit(to == Type::kE4M3x2 ? halves_to_quarters<E4M3> : halves_to_quarters<E5M2>, d, {a});
  } else if (is_quarter(from) && to == Type::kF16x2) {
    const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kB16);
    inst = &e.emit(from == Type::kE4M3x2 ? quarters_to_halves<E4M3> : quarters_to_halves<E5M2>, d, {a});
  } else {
    e.unsupported("the conversion is not supported");
  }
  if (is_quarter(to) && (flags & kFinite) == 0) e.invalid(".satfinite is missing");
  inst->flags = flags;
}

// cvt.pack: a and b clamped to `bits` wide integers, b lowest; c moves up and fills the rest.
template <bool kSigned>
const Inst* pack_integers(Warp& warp, const Inst* in) {
  const int32_t* const a = warp.src<int32_t>(in->src[0]);
  const int32_t* const b = warp.src<int32_t>(in->src[1]);
  const uint32_t* const c = warp.src<uint32_t>(in->src[2]);
  const auto bits = static_cast<uint32_t>(in->imm);
  const int32_t low = kSigned ? -(1 << (bits - 1)) : 0;
  const int32_t high = kSigned ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  const uint32_t mask = (1u << bits) - 1;
  return each<uint32_t>(warp, in, [=](uint32_t i) {
    const auto one = [=](int32_t v) {
      return static_cast<uint32_t>(v < low ? low : v > high ? high : v) & mask;
    };
    const uint64_t rest = uint64_t{c[i]} << (2 * bits);
    return static_cast<uint32_t>(rest) | one(a[i]) << bits | one(b[i]);
  });
}

}  // namespace

void select_pack(Emitter& e) {
  if (!e.has("sat")) e.invalid(".sat is missing");
  uint32_t bits = 0;
  bool sign = false;
  uint32_t types = 0;
  if (e.has("u4")) {
    bits = 4;
  } else if (e.has("u2")) {
    bits = 2;
  } else if (e.has("s4")) {
    bits = 4;
    sign = true;
  } else if (e.has("s2")) {
    bits = 2;
    sign = true;
  } else {
    const Type to = e.type(types++);
    bits = 8 * type_bytes(to);
    sign = is_signed(to);
    if (bits > 16 || !is_integer(to)) e.invalid("the destination has at most 16 bits");
  }
  if (e.type(types++) != Type::kS32) e.invalid("the sources are .s32");
  if (types < e.type_count() && e.type(types) != Type::kB32) e.invalid("the third source is .b32");
  const Slot a = e.source(1, Type::kS32), b = e.source(2, Type::kS32);
  const Slot c = e.operand_count() == 4 ? e.source(3, Type::kB32) : e.constant(0, 4);
  e.emit(sign ? pack_integers<true> : pack_integers<false>, e.destination(0, Type::kB32), {a, b, c}).imm =
      bits;
}

void select_cvt(Emitter& e) {
  if (e.has("pack")) return select_pack(e);
  const Type to = e.type(0);
  const Type from = e.type(1);
  uint16_t flags = 0;
  if (e.has("sat")) flags |= kSaturate;
  if (e.has("relu")) flags |= kRelu;
  if (e.has("satfinite")) flags |= kFinite;
  const bool away = e.has("rna");
  uint8_t mode = e.float_mode();
  if ((mode & kFlush) != 0) flags |= kFlushed;
  mode &= 3;
  for (const auto& [name, rounding] : {std::pair<std::string_view, uint8_t>{"rni", kNearest},
                                       {"rzi", kTowardZero},
                                       {"rmi", kDown},
                                       {"rpi", kUp}}) {
    if (!e.has(name)) continue;
    mode = rounding;
    flags |= kIntegral;
  }
  if (to == Type::kTF32) {
    if (from != Type::kF32) e.invalid("the source is .f32");
    if ((flags & ~(kRelu | kFinite)) != 0) e.unsupported("this form is not supported");
    Inst& inst = e.emit(to_tf32, e.destination(0, Type::kB32), {e.source(1, Type::kF32)});
    inst.flags = away ? flags | kAway : flags;
    inst.float_mode = mode;
    return;
  }
  if (away) e.unsupported(".rna is not supported for this type");
  if (is_quarter(to) || is_quarter(from)) return select_quarter(e, to, from, flags);
  if (to == Type::kF16x2 || to == Type::kBF16x2) {
    if (from != Type::kF32 || e.operand_count() != 3) e.unsupported("the conversion is not supported");
    Inst& inst = e.emit(to == Type::kF16x2 ? pack_halves<Half> : pack_halves<Bfloat>,
                        e.destination(0, Type::kB32), {e.source(1, Type::kF32), e.source(2, Type::kF32)});
    inst.flags = flags;
    inst.float_mode = mode;
    return;
  }
  const Handler handler = with_kind(e, to, [&]<class To>() {
    return with_kind(e, from, [&]<class From>() { return handler_for<To, From>(); });
  });
  const Slot a = e.source(1, from, true);
  const Slot d = e.destination(0, to, true);
  Inst& inst = e.emit(handler, d, {a});
  inst.flags = flags;
  inst.float_mode = mode;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
