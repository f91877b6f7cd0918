// f16, bf16 and their packed pairs: add sub mul fma min max abs neg ex2 tanh. A product or sum of two
// values of these formats is exact or correctly sticky in double precision, so rounding once from there
// gives the ISA's result.
#include "softgpu/ptx/families/half.h"

#include <cmath>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

enum : uint16_t { kSaturate = 1, kFlushHalf = 2, kRelu = 4 };

template <class H>
uint16_t flushed(uint16_t v) {
  return (v & H::kExponentMask) == 0 ? static_cast<uint16_t>(v & 0x8000) : v;
}

template <class H>
double value(uint16_t v, uint16_t flags) {
  return static_cast<double>(H::to_float((flags & kFlushHalf) != 0 ? flushed<H>(v) : v));
}

template <class H>
uint16_t result(double v, uint16_t flags) {
  if ((flags & kSaturate) != 0) v = v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
  if ((flags & kRelu) != 0 && v == v && !(v > 0.0)) v = 0.0;
  const uint16_t r = H::from(v);
  return (flags & kFlushHalf) != 0 ? flushed<H>(r) : r;
}

// a + b rounded to odd in double precision: a later rounding to fewer bits is then the rounding of the
// exact sum.
double sum_to_odd(double a, double b) {
  const double s = a + b;
  if (!std::isfinite(s)) return s;
  const double bb = s - a;
  const double error = (a - (s - bb)) + (b - bb);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (error != 0.0 && (bits & 1) == 0) {
    const bool away = (error > 0.0) == (s > 0.0);
    bits = away ? bits + 1 : bits - 1;
  }
  return std::bit_cast<double>(bits);
}

struct Add {
  double operator()(double a, double b, double) const { return sum_to_odd(a, b); }
};
struct Subtract {
  double operator()(double a, double b, double) const { return sum_to_odd(a, -b); }
};
struct Multiply {
  double operator()(double a, double b, double) const { return a * b; }
};
struct Fused {
  double operator()(double a, double b, double c) const { return sum_to_odd(a * b, c); }
};

template <class H, class F>
const Inst* arithmetic(Warp& warp, const Inst* in) {
  use_float_mode(warp, kNearest);
  const uint16_t* const a = warp.src<uint16_t>(in->src[0]);
  const uint16_t* const b = warp.src<uint16_t>(in->src[1]);
  const uint16_t* const c = warp.src<uint16_t>(in->src[2] == kNoSlot ? in->src[0] : in->src[2]);
  const uint16_t flags = in->flags;
  return each_active<uint16_t>(warp, in, [=](uint32_t i) {
    return result<H>(F{}(value<H>(a[i], flags), value<H>(b[i], flags), value<H>(c[i], flags)), flags);
  });
}

template <class H, class F>
const Inst* packed_arithmetic(Warp& warp, const Inst* in) {
  use_float_mode(warp, kNearest);
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const uint32_t* const b = warp.src<uint32_t>(in->src[1]);
  const uint32_t* const c = warp.src<uint32_t>(in->src[2] == kNoSlot ? in->src[0] : in->src[2]);
  const uint16_t flags = in->flags;
  return each_active<uint32_t>(warp, in, [=](uint32_t i) {
    uint32_t both = 0;
    for (int k = 0; k < 32; k += 16) {
      const auto half = [k](uint32_t v) { return static_cast<uint16_t>(v >> k); };
      both |= static_cast<uint32_t>(result<H>(
                  F{}(value<H>(half(a[i]), flags), value<H>(half(b[i]), flags), value<H>(half(c[i]), flags)),
                  flags))
              << k;
    }
    return both;
  });
}

template <class F>
Handler arithmetic_for(Type type) {
  switch (type) {
    case Type::kF16:
      return arithmetic<Half, F>;
    case Type::kBF16:
      return arithmetic<Bfloat, F>;
    case Type::kF16x2:
      return packed_arithmetic<Half, F>;
    default:
      return packed_arithmetic<Bfloat, F>;
  }
}

uint16_t flags_of(Emitter& e) {
  e.has("rn");
  return static_cast<uint16_t>((e.has("sat") ? kSaturate : 0) | (e.has("ftz") ? kFlushHalf : 0) |
                               (e.has("relu") ? kRelu : 0));
}

enum : uint16_t { kMinimum = 8, kKeepNan = 16, kXorSign = 32 };

template <class H>
uint16_t pick(uint16_t a, uint16_t b, uint16_t flags) {
  if ((flags & kFlushHalf) != 0) {
    a = flushed<H>(a);
    b = flushed<H>(b);
  }
  const auto sign = static_cast<uint16_t>((a ^ b) & 0x8000);
  if ((flags & kXorSign) != 0) {
    a &= 0x7fff;
    b &= 0x7fff;
  }
  const float x = H::to_float(a), y = H::to_float(b);
  const bool nan_x = x != x, nan_y = y != y;
  if ((nan_x && nan_y) || ((flags & kKeepNan) != 0 && (nan_x || nan_y))) return kNan16;
  uint16_t chosen;
  if (nan_x) {
    chosen = b;
  } else if (nan_y) {
    chosen = a;
  } else if (x == y) {
    chosen = ((flags & kMinimum) != 0) == ((a & 0x8000) != 0) ? a : b;
  } else {
    chosen = ((flags & kMinimum) != 0) == (x < y) ? a : b;
  }
  return (flags & kXorSign) != 0 ? static_cast<uint16_t>((chosen & 0x7fff) | sign) : chosen;
}

template <class H>
const Inst* minmax(Warp& warp, const Inst* in) {
  const uint16_t* const a = warp.src<uint16_t>(in->src[0]);
  const uint16_t* const b = warp.src<uint16_t>(in->src[1]);
  use_float_mode(warp, kNearest);
  const uint16_t flags = in->flags;
  return each_active<uint16_t>(warp, in, [=](uint32_t i) { return pick<H>(a[i], b[i], flags); });
}

template <class H>
const Inst* packed_minmax(Warp& warp, const Inst* in) {
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const uint32_t* const b = warp.src<uint32_t>(in->src[1]);
  use_float_mode(warp, kNearest);
  const uint16_t flags = in->flags;
  return each_active<uint32_t>(warp, in, [=](uint32_t i) {
    return static_cast<uint32_t>(pick<H>(static_cast<uint16_t>(a[i]), static_cast<uint16_t>(b[i]), flags)) |
           static_cast<uint32_t>(
               pick<H>(static_cast<uint16_t>(a[i] >> 16), static_cast<uint16_t>(b[i] >> 16), flags))
               << 16;
  });
}

bool is_packed(Type type) { return type == Type::kF16x2 || type == Type::kBF16x2; }
bool is_ieee(Type type) { return type == Type::kF16 || type == Type::kF16x2; }

}  // namespace

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2;
}

void select_half_add(Emitter& e) {
  const Type type = e.type(0);
  const uint16_t flags = flags_of(e);
  const std::string_view name = e.in().name;
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  const Handler handler = name == "add"   ? arithmetic_for<Add>(type)
                          : name == "sub" ? arithmetic_for<Subtract>(type)
                                          : arithmetic_for<Multiply>(type);
  e.emit(handler, d, {a, b}).flags = flags;
}

void select_half_fma(Emitter& e) {
  const Type type = e.type(0);
  const uint16_t flags = flags_of(e);
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type), c = e.source(3, type);
  e.emit(arithmetic_for<Fused>(type), d, {a, b, c}).flags = flags;
}

void select_half_minmax(Emitter& e) {
  const Type type = e.type(0);
  uint16_t flags = e.in().name == "min" ? kMinimum : 0;
  if (e.has("ftz")) flags |= kFlushHalf;
  if (e.has("NaN")) flags |= kKeepNan;
  if (e.has("xorsign")) flags |= kXorSign;
  e.has("abs");
  if (e.operand_count() == 4) e.unsupported("the form with three operands is not supported");
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type);
  const Handler handler = is_packed(type) ? (is_ieee(type) ? packed_minmax<Half> : packed_minmax<Bfloat>)
                                          : (is_ieee(type) ? minmax<Half> : minmax<Bfloat>);
  e.emit(handler, d, {a, b}).flags = flags;
}

void select_half_sign(Emitter& e) {
  const Type type = e.type(0);
  const bool is_abs = e.in().name == "abs";
  const bool flush = e.has("ftz");
  const Slot d = e.destination(0, type), a = e.source(1, type);
  using H = uint16_t;
  using P = uint32_t;
  if (is_packed(type)) {
    if (flush) e.unsupported(".ftz on packed values is not supported");
    e.emit(is_abs ? unary<P, P>([](P v) { return v & 0x7fff7fffu; })
                  : unary<P, P>([](P v) { return v ^ 0x80008000u; }),
           d, {a});
    return;
  }
  if (flush) {
    e.emit(is_abs ? unary<H, H>([](H v) { return static_cast<H>(flushed<Half>(v) & 0x7fff); })
                  : unary<H, H>([](H v) { return static_cast<H>(flushed<Half>(v) ^ 0x8000); }),
           d, {a});
    return;
  }
  e.emit(is_abs ? unary<H, H>([](H v) { return static_cast<H>(v & 0x7fff); })
                : unary<H, H>([](H v) { return static_cast<H>(v ^ 0x8000); }),
         d, {a});
}

namespace {

struct Exp2 {
  double operator()(double a, double, double) const { return std::exp2(a); }
};
struct Tanh {
  double operator()(double a, double, double) const { return std::tanh(a); }
};

}  // namespace

void select_half_transcendental(Emitter& e) {
  const Type type = e.type(0);
  e.has("approx");
  const uint16_t flags = e.has("ftz") ? kFlushHalf : 0;
  const Slot d = e.destination(0, type), a = e.source(1, type);
  e.emit(e.in().name == "ex2" ? arithmetic_for<Exp2>(type) : arithmetic_for<Tanh>(type), d, {a, a}).flags =
      flags;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
