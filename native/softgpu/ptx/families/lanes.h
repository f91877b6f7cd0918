// The loops over a warp's lanes. Included by every family; each is compiled once per host instruction
// set (SLUICE_PTX_ISA), so nothing here may have a linkage that could be shared between those copies.
#pragma once

#include <cstdint>
#include <cstring>

#include "softgpu/ptx/exec/launch.h"
#include "softgpu/ptx/translate/emitter.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

#define SLUICE_LANES(i) _Pragma("GCC ivdep") for (uint32_t i = 0; i < kLanes; ++i)

// Sets MXCSR as the instruction wants it. The clobber keeps loads of operands behind it.
[[gnu::always_inline]] inline void use_float_mode(Warp& warp, uint8_t mode) {
  if (warp.thread->float_mode != mode) [[unlikely]]
    switch_float_mode(*warp.thread, mode);
  asm volatile("" ::: "memory");
}

template <class D>
[[gnu::always_inline]] inline void blend(D* d, const D* value, uint32_t exec) {
  SLUICE_LANES(i) d[i] = (exec >> i & 1) != 0 ? value[i] : d[i];
}

// d[i] = f(i) for the lanes that run. f must not fault: it is called for the others too.
template <class D, class F>
[[gnu::always_inline]] inline const Inst* each(Warp& warp, const Inst* in, F f) {
  D* const d = warp.dst<D>(in->dst);
  if (warp.dense()) [[likely]] {
    SLUICE_LANES(i) d[i] = f(i);
  } else {
    D value[kLanes];
    SLUICE_LANES(i) value[i] = f(i);
    blend(d, value, warp.exec);
  }
  return in + 1;
}

// The same for expensive functions: one loop, not inlined twice.
template <class D, class F>
[[gnu::always_inline]] inline const Inst* each_active(Warp& warp, const Inst* in, F f) {
  D* const d = warp.dst<D>(in->dst);
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    d[i] = f(i);
  }
  return in + 1;
}

template <class D, class A, class F>
constexpr Handler unary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    const A* const a = warp.src<A>(in->src[0]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i]); });
  };
}

template <class D, class A, class B, class F>
constexpr Handler binary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    const A* const a = warp.src<A>(in->src[0]);
    const B* const b = warp.src<B>(in->src[1]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i], b[i]); });
  };
}

template <class D, class A, class B, class C, class F>
constexpr Handler ternary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    const A* const a = warp.src<A>(in->src[0]);
    const B* const b = warp.src<B>(in->src[1]);
    const C* const c = warp.src<C>(in->src[2]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i], b[i], c[i]); });
  };
}

template <class D, class A, class B, class C, class E, class F>
constexpr Handler quaternary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    const A* const a = warp.src<A>(in->src[0]);
    const B* const b = warp.src<B>(in->src[1]);
    const C* const c = warp.src<C>(in->src[2]);
    const E* const e = warp.src<E>(in->src[3]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i], b[i], c[i], e[i]); });
  };
}

// Floating-point forms: the same with the instruction's rounding and flushing in force.
template <class D, class A, class F>
constexpr Handler float_unary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    use_float_mode(warp, in->float_mode);
    const A* const a = warp.src<A>(in->src[0]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i]); });
  };
}

template <class D, class A, class B, class F>
constexpr Handler float_binary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    use_float_mode(warp, in->float_mode);
    const A* const a = warp.src<A>(in->src[0]);
    const B* const b = warp.src<B>(in->src[1]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i], b[i]); });
  };
}

template <class D, class A, class B, class C, class F>
constexpr Handler float_ternary(F) {
  return [](Warp& warp, const Inst* in) -> const Inst* {
    use_float_mode(warp, in->float_mode);
    const A* const a = warp.src<A>(in->src[0]);
    const B* const b = warp.src<B>(in->src[1]);
    const C* const c = warp.src<C>(in->src[2]);
    return each<D>(warp, in, [=](uint32_t i) { return F{}(a[i], b[i], c[i]); });
  };
}

// One bit per lane where f(i) holds.
template <class F>
[[gnu::always_inline]] inline uint32_t lane_bits(F f) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes; ++i) bits |= static_cast<uint32_t>(f(i) ? 1u : 0u) << i;
  return bits;
}

// Calls f.template operator()<T>() with the C++ type of an integer or bit type.
template <class F>
void with_integer(Emitter& e, Type type, F f) {
  switch (type) {
    case Type::kU16:
      return f.template operator()<uint16_t>();
    case Type::kS16:
      return f.template operator()<int16_t>();
    case Type::kU32:
      return f.template operator()<uint32_t>();
    case Type::kS32:
      return f.template operator()<int32_t>();
    case Type::kU64:
      return f.template operator()<uint64_t>();
    case Type::kS64:
      return f.template operator()<int64_t>();
    default:
      e.unsupported("the type is not supported");
  }
}

template <class F>
void with_bits(Emitter& e, Type type, F f) {
  switch (lane_width(type)) {
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      e.unsupported("the type is not supported");
  }
}

}  // namespace

}  // namespace sluice::ptx::SLUICE_PTX_ISA
