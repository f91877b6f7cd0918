// Comparison and selection: setp set selp slct.
#include <type_traits>

#include "softgpu/ptx/families/families.h"
#include "softgpu/ptx/families/half.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

enum class Test : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

template <Test kTest, class T>
[[gnu::always_inline]] inline bool holds(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = a != a || b != b;
    if constexpr (kTest == Test::kEq) return a == b;
    if constexpr (kTest == Test::kNe) return !unordered && a != b;
    if constexpr (kTest == Test::kLt) return a < b;
    if constexpr (kTest == Test::kLe) return a <= b;
    if constexpr (kTest == Test::kGt) return a > b;
    if constexpr (kTest == Test::kGe) return a >= b;
    if constexpr (kTest == Test::kEqu) return unordered || a == b;
    if constexpr (kTest == Test::kNeu) return unordered || a != b;
    if constexpr (kTest == Test::kLtu) return unordered || a < b;
    if constexpr (kTest == Test::kLeu) return unordered || a <= b;
    if constexpr (kTest == Test::kGtu) return unordered || a > b;
    if constexpr (kTest == Test::kGeu) return unordered || a >= b;
    if constexpr (kTest == Test::kNum) return !unordered;
    if constexpr (kTest == Test::kNan) return unordered;
  } else {
    if constexpr (kTest == Test::kEq) return a == b;
    if constexpr (kTest == Test::kNe) return a != b;
    if constexpr (kTest == Test::kLt) return a < b;
    if constexpr (kTest == Test::kLe) return a <= b;
    if constexpr (kTest == Test::kGt) return a > b;
    if constexpr (kTest == Test::kGe) return a >= b;
  }
}

// How operands are stored and what they are compared as.
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static T value(T v) { return v; }
};
template <class H>
struct Small {
  using Stored = uint16_t;
  using Value = float;
  static float value(uint16_t v) { return H::to_float(v); }
};

// flags: 0 no combination, 1 and, 2 or, 3 xor with src[2].
template <class K, Test kTest>
const Inst* setp(Warp& warp, const Inst* in) {
  using S = typename K::Stored;
  const S* const a = warp.src<S>(in->src[0]);
  const S* const b = warp.src<S>(in->src[1]);
  if constexpr (std::is_floating_point_v<typename K::Value>) use_float_mode(warp, in->float_mode);
  const uint32_t bits = lane_bits([=](uint32_t i) { return holds<kTest>(K::value(a[i]), K::value(b[i])); });
  if (in->flags == 0) {
    warp.set_predicate(in->dst, bits);
    if (in->src[3] != kNoSlot) warp.set_predicate(in->src[3], ~bits);
    return in + 1;
  }
  const uint32_t c = warp.predicate(in->src[2]);
  const auto combine = [&](uint32_t v) { return in->flags == 1 ? v & c : in->flags == 2 ? v | c : v ^ c; };
  warp.set_predicate(in->dst, combine(bits));
  if (in->src[3] != kNoSlot) warp.set_predicate(in->src[3], combine(~bits));
  return in + 1;
}

template <class K, bool kFloat>
Handler setp_for(Emitter& e) {
  if (e.has("eq")) return setp<K, Test::kEq>;
  if (e.has("ne")) return setp<K, Test::kNe>;
  if constexpr (!kFloat) {
    if (e.has_any({"lt", "lo"})) return setp<K, Test::kLt>;
    if (e.has_any({"le", "ls"})) return setp<K, Test::kLe>;
    if (e.has_any({"gt", "hi"})) return setp<K, Test::kGt>;
    if (e.has_any({"ge", "hs"})) return setp<K, Test::kGe>;
  } else {
    if (e.has("lt")) return setp<K, Test::kLt>;
    if (e.has("le")) return setp<K, Test::kLe>;
    if (e.has("gt")) return setp<K, Test::kGt>;
    if (e.has("ge")) return setp<K, Test::kGe>;
    if (e.has("equ")) return setp<K, Test::kEqu>;
    if (e.has("neu")) return setp<K, Test::kNeu>;
    if (e.has("ltu")) return setp<K, Test::kLtu>;
    if (e.has("leu")) return setp<K, Test::kLeu>;
    if (e.has("gtu")) return setp<K, Test::kGtu>;
    if (e.has("geu")) return setp<K, Test::kGeu>;
    if (e.has("num")) return setp<K, Test::kNum>;
    if (e.has("nan")) return setp<K, Test::kNan>;
  }
  e.invalid("expected a comparison");
}

Handler setp_handler(Emitter& e, Type type) {
  switch (type) {
    case Type::kF32:
      return setp_for<Plain<float>, true>(e);
    case Type::kF64:
      return setp_for<Plain<double>, true>(e);
    case Type::kF16:
      return setp_for<Small<Half>, true>(e);
    case Type::kBF16:
      return setp_for<Small<Bfloat>, true>(e);
    case Type::kS16:
      return setp_for<Plain<int16_t>, false>(e);
    case Type::kS32:
      return setp_for<Plain<int32_t>, false>(e);
    case Type::kS64:
      return setp_for<Plain<int64_t>, false>(e);
    case Type::kU16:
    case Type::kB16:
      return setp_for<Plain<uint16_t>, false>(e);
    case Type::kU32:
    case Type::kB32:
      return setp_for<Plain<uint32_t>, false>(e);
    case Type::kU64:
    case Type::kB64:
      return setp_for<Plain<uint64_t>, false>(e);
    default:
      e.unsupported("the type is not supported");
  }
}

uint16_t combination(Emitter& e) {
  if (e.has("and")) return 1;
  if (e.has("or")) return 2;
  if (e.has("xor")) return 3;
  return 0;
}

// Halves of a packed register into two 16-bit slots.
const Inst* unpack(Warp& warp, const Inst* in) {
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const auto shift = static_cast<uint32_t>(in->imm);
  return each<uint16_t>(warp, in, [=](uint32_t i) { return static_cast<uint16_t>(a[i] >> shift); });
}

Slot half_of(Emitter& e, Slot packed, uint32_t shift) {
  const Slot slot = e.temporary(2);
  Inst& inst = e.emit_always(unpack);
  inst.dst = slot;
  inst.src[0] = packed;
  inst.imm = shift;
  return slot;
}

// set: the predicate as all ones or 1.0.
template <class D>
const Inst* spread(Warp& warp, const Inst* in) {
  const uint32_t bits = warp.predicate(in->src[0]);
  const D on = static_cast<D>(in->imm);
  return each<D>(warp, in, [=](uint32_t i) { return (bits >> i & 1) != 0 ? on : D{0}; });
}

const Inst* spread_packed(Warp& warp, const Inst* in) {
  const uint32_t low = warp.predicate(in->src[0]);
  const uint32_t high = warp.predicate(in->src[1]);
  const auto on = static_cast<uint32_t>(in->imm);
  return each<uint32_t>(warp, in, [=](uint32_t i) {
    return ((low >> i & 1) != 0 ? on : 0u) | ((high >> i & 1) != 0 ? on << 16 : 0u);
  });
}

}  // namespace

void select_setp(Emitter& e) {
  const Type type = e.type(0);
  const uint8_t mode = e.float_mode();
  const uint16_t flags = combination(e);
  if (type == Type::kF16x2 || type == Type::kBF16x2) {
    const Handler handler = setp_handler(e, type == Type::kF16x2 ? Type::kF16 : Type::kBF16);
    const Slot a = e.source(1, Type::kB32), b = e.source(2, Type::kB32);
    const Slot c = flags != 0 ? e.predicate(3) : kNoSlot;
    const Slot p = e.predicate_destination(e.operand(0));
    Slot q = e.second_destination();
    if (q == kNoSlot) q = e.temporary(0);
    const Slot halves[4] = {half_of(e, a, 0), half_of(e, b, 0), half_of(e, a, 16), half_of(e, b, 16)};
    e.emit(handler, p, {halves[0], halves[1], c, kNoSlot}).flags = flags;
    e.emit(handler, q, {halves[2], halves[3], c, kNoSlot}).flags = flags;
    return;
  }
  const Handler handler = setp_handler(e, type);
  const Slot a = e.source(1, type), b = e.source(2, type);
  const Slot c = flags != 0 ? e.predicate(3) : kNoSlot;
  Inst& inst = e.emit(handler, e.predicate_destination(e.operand(0)), {a, b, c, e.second_destination()});
  inst.flags = flags;
  inst.float_mode = mode;
}

void select_set(Emitter& e) {
  const Type to = e.type(0);
  const Type type = e.type(1);
  const uint8_t mode = e.float_mode();
  const uint16_t flags = combination(e);
  const Slot c = flags != 0 ? e.predicate(3) : kNoSlot;
  if (type == Type::kF16x2 || type == Type::kBF16x2) {
    const bool is_half_type = type == Type::kF16x2;
    const Handler handler = setp_handler(e, is_half_type ? Type::kF16 : Type::kBF16);
    const Slot a = e.source(1, Type::kB32), b = e.source(2, Type::kB32);
    const Slot low = e.temporary(0), high = e.temporary(0);
    const Slot halves[4] = {half_of(e, a, 0), half_of(e, b, 0), half_of(e, a, 16), half_of(e, b, 16)};
    e.emit(handler, low, {halves[0], halves[1], c, kNoSlot}).flags = flags;
    e.emit(handler, high, {halves[2], halves[3], c, kNoSlot}).flags = flags;
    const Slot d = e.destination(0, Type::kB32);
    e.emit(spread_packed, d, {low, high}).imm = to == Type::kF16x2    ? 0x3c00u
                                                : to == Type::kBF16x2 ? 0x3f80u
                                                                      : 0xffffu;
    return;
  }
  const Handler handler = setp_handler(e, type);
  const Slot a = e.source(1, type), b = e.source(2, type);
  const Slot p = e.temporary(0);
  Inst& inst = e.emit(handler, p, {a, b, c, kNoSlot});
  inst.flags = flags;
  inst.float_mode = mode;
  const Slot d = e.destination(0, to);
  const uint64_t on = to == Type::kF32    ? 0x3f800000u
                      : to == Type::kF16  ? 0x3c00u
                      : to == Type::kBF16 ? 0x3f80u
                                          : ~uint64_t{0};
  with_bits(e, to, [&]<class T>() { e.emit(spread<T>, d, {p}).imm = on; });
}

namespace {

template <class T>
const Inst* selp(Warp& warp, const Inst* in) {
  const T* const a = warp.src<T>(in->src[0]);
  const T* const b = warp.src<T>(in->src[1]);
  const uint32_t p = warp.predicate(in->src[2]);
  return each<T>(warp, in, [=](uint32_t i) { return (p >> i & 1) != 0 ? a[i] : b[i]; });
}

const Inst* selp_predicate(Warp& warp, const Inst* in) {
  const uint32_t p = warp.predicate(in->src[2]);
  warp.set_predicate(in->dst, (warp.predicate(in->src[0]) & p) | (warp.predicate(in->src[1]) & ~p));
  return in + 1;
}

}  // namespace

void select_selp(Emitter& e) {
  const Type type = e.type(0);
  if (type == Type::kPred) {
    e.emit(selp_predicate, e.predicate_destination(e.operand(0)),
           {e.predicate(1), e.predicate(2), e.predicate(3)});
    return;
  }
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type), p = e.predicate(3);
  with_bits(e, type, [&]<class T>() { e.emit(selp<T>, d, {a, b, p}); });
}

// slct: a where c >= 0 (a NaN is not), else b.
void select_slct(Emitter& e) {
  const Type type = e.type(0);
  const Type by = e.type(1);
  const uint8_t mode = e.float_mode();
  const Slot d = e.destination(0, type), a = e.source(1, type), b = e.source(2, type), c = e.source(3, by);
  with_bits(e, type, [&]<class T>() {
    if (by == Type::kF32) {
      e.emit(float_ternary<T, T, T, float>([](T x, T y, float z) { return z >= 0.0f ? x : y; }), d, {a, b, c})
          .float_mode = mode;
    } else if (by == Type::kS32) {
      e.emit(ternary<T, T, T, int32_t>([](T x, T y, int32_t z) { return z >= 0 ? x : y; }), d, {a, b, c});
    } else {
      e.invalid("the selector is .s32 or .f32");
    }
  });
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
