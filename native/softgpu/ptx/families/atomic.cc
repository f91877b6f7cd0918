// atom and red on global, shared and generic addresses; membar and fence. Every operation is
// sequentially consistent on the host, which is at least what any order and scope asks for.
#include <bit>
#include <type_traits>

#include "softgpu/ptx/families/access.h"
#include "softgpu/ptx/families/half.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

// Applies F until the memory did not change in between; gives the old value.
template <class T, class F>
T update(T* target, F f) {
  T old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(target, &old, f(old), true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <class T>
struct AddInt {
  T operator()(T m, T v) const { return static_cast<T>(m + v); }
};
template <class T>
struct AndInt {
  T operator()(T m, T v) const { return m & v; }
};
template <class T>
struct OrInt {
  T operator()(T m, T v) const { return m | v; }
};
template <class T>
struct XorInt {
  T operator()(T m, T v) const { return m ^ v; }
};
template <class T>
struct Exchange {
  T operator()(T, T v) const { return v; }
};
template <class T, class V, bool kMin>
struct Extreme {
  T operator()(T m, T v) const { return (static_cast<V>(m) < static_cast<V>(v)) == kMin ? m : v; }
};
// inc: 0 once the limit is reached; dec: the limit after 0 or when above it.
struct Increment {
  uint32_t operator()(uint32_t m, uint32_t v) const { return m >= v ? 0 : m + 1; }
};
struct Decrement {
  uint32_t operator()(uint32_t m, uint32_t v) const { return m == 0 || m > v ? v : m - 1; }
};
struct AddF32 {
  uint32_t operator()(uint32_t m, uint32_t v) const {
    const float s = std::bit_cast<float>(m) + std::bit_cast<float>(v);
    return s != s ? kNan32 : std::bit_cast<uint32_t>(s);
  }
};
struct AddF64 {
  uint64_t operator()(uint64_t m, uint64_t v) const {
    return std::bit_cast<uint64_t>(std::bit_cast<double>(m) + std::bit_cast<double>(v));
  }
};
template <class H>
struct AddSmall {
  uint16_t operator()(uint16_t m, uint16_t v) const {
    // Two significands of at most 11 bits: the sum of floats this far apart rounds once in double.
    return H::from(static_cast<double>(H::to_float(m)) + static_cast<double>(H::to_float(v)));
  }
};
// A NaN loses against a number; -0 lies below +0.
template <class H, bool kMin>
struct ExtremeSmall {
  uint16_t operator()(uint16_t m, uint16_t v) const {
    const float x = H::to_float(m), y = H::to_float(v);
    if (x != x) return y != y ? kNan16 : v;
    if (y != y) return m;
    if (x == y) return ((m & 0x8000) != 0) == kMin ? m : v;
    return (x < y) == kMin ? m : v;
  }
};
template <class F>
struct Pair {
  uint32_t operator()(uint32_t m, uint32_t v) const {
    const F f;
    return static_cast<uint32_t>(f(static_cast<uint16_t>(m), static_cast<uint16_t>(v))) |
           static_cast<uint32_t>(f(static_cast<uint16_t>(m >> 16), static_cast<uint16_t>(v >> 16))) << 16;
  }
};

template <class T, class F>
const Inst* atomic(Warp& warp, const Inst* in) {
  Addresses a;
  compute_addresses(warp, in, in->src[0], a);
  T v[kLanes];
  std::memcpy(v, warp.at(in->src[1]), sizeof v);
  use_float_mode(warp, in->float_mode);
  const auto space = static_cast<MemorySpace>(in->extra);
  T* const d = in->dst == kNoSlot ? nullptr : warp.dst<T>(in->dst);
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    auto* const target = reinterpret_cast<T*>(atomic_target(warp, in, space, a.at[i], sizeof(T)));
    if (target == nullptr) return nullptr;
    const T operand = v[i];
    T old;
    if (space == MemorySpace::kShared) {
      // A block's warps take turns on one host thread.
      old = *target;
      *target = F{}(old, operand);
    } else if constexpr (std::is_same_v<F, AddInt<T>>) {
      old = __atomic_fetch_add(target, operand, __ATOMIC_SEQ_CST);
    } else {
      old = update<T>(target, [=](T m) { return F{}(m, operand); });
    }
    if (d != nullptr) d[i] = old;
  }
  return in + 1;
}

template <class T>
const Inst* compare_and_swap(Warp& warp, const Inst* in) {
  Addresses a;
  compute_addresses(warp, in, in->src[0], a);
  T compare[kLanes], value[kLanes];
  std::memcpy(compare, warp.at(in->src[1]), sizeof compare);
  std::memcpy(value, warp.at(in->src[2]), sizeof value);
  const auto space = static_cast<MemorySpace>(in->extra);
  T* const d = in->dst == kNoSlot ? nullptr : warp.dst<T>(in->dst);
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    auto* const target = reinterpret_cast<T*>(atomic_target(warp, in, space, a.at[i], sizeof(T)));
    if (target == nullptr) return nullptr;
    T old = compare[i];
    __atomic_compare_exchange_n(target, &old, value[i], false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (d != nullptr) d[i] = old;
  }
  return in + 1;
}

const Inst* fence(Warp&, const Inst* in) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return in + 1;
}

template <class T>
Handler integer_operation(Emitter& e, Type type) {
  using S = std::make_signed_t<T>;
  if (e.has("add")) return atomic<T, AddInt<T>>;
  if (e.has("exch")) return atomic<T, Exchange<T>>;
  if (e.has("and")) return atomic<T, AndInt<T>>;
  if (e.has("or")) return atomic<T, OrInt<T>>;
  if (e.has("xor")) return atomic<T, XorInt<T>>;
  if (e.has("min")) return is_signed(type) ? atomic<T, Extreme<T, S, true>> : atomic<T, Extreme<T, T, true>>;
  if (e.has("max"))
    return is_signed(type) ? atomic<T, Extreme<T, S, false>> : atomic<T, Extreme<T, T, false>>;
  if constexpr (sizeof(T) == 4) {
    if (e.has("inc")) return atomic<T, Increment>;
    if (e.has("dec")) return atomic<T, Decrement>;
  }
  e.unsupported("the operation is not supported");
}

Handler float_operation(Emitter& e, Type type) {
  const bool is_min = e.has("min");
  if (is_min || e.has("max")) {
    switch (type) {
      case Type::kF16:
        return is_min ? atomic<uint16_t, ExtremeSmall<Half, true>>
                      : atomic<uint16_t, ExtremeSmall<Half, false>>;
      case Type::kBF16:
        return is_min ? atomic<uint16_t, ExtremeSmall<Bfloat, true>>
                      : atomic<uint16_t, ExtremeSmall<Bfloat, false>>;
      case Type::kF16x2:
        return is_min ? atomic<uint32_t, Pair<ExtremeSmall<Half, true>>>
                      : atomic<uint32_t, Pair<ExtremeSmall<Half, false>>>;
      case Type::kBF16x2:
        return is_min ? atomic<uint32_t, Pair<ExtremeSmall<Bfloat, true>>>
                      : atomic<uint32_t, Pair<ExtremeSmall<Bfloat, false>>>;
      default:
        e.unsupported("the type is not supported");
    }
  }
  if (!e.has("add")) e.unsupported("the operation is not supported");
  switch (type) {
    case Type::kF32:
      return atomic<uint32_t, AddF32>;
    case Type::kF64:
      return atomic<uint64_t, AddF64>;
    case Type::kF16:
      return atomic<uint16_t, AddSmall<Half>>;
    case Type::kBF16:
      return atomic<uint16_t, AddSmall<Bfloat>>;
    case Type::kF16x2:
      return atomic<uint32_t, Pair<AddSmall<Half>>>;
    case Type::kBF16x2:
      return atomic<uint32_t, Pair<AddSmall<Bfloat>>>;
    default:
      e.unsupported("the type is not supported");
  }
}

Handler operation(Emitter& e, Type type) {
  if (is_float(type)) return float_operation(e, type);
  if (type_bytes(type) == 8) return integer_operation<uint64_t>(e, type);
  if (type_bytes(type) == 4) return integer_operation<uint32_t>(e, type);
  e.unsupported("the type is not supported");
}

}  // namespace

void select_atomic(Emitter& e) {
  const MemorySpace space = take_space(e);
  e.has_any({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz",
             "L2::cache_hint"});
  const Type type = e.type(0);
  const bool returns = e.in().name == "atom";
  const uint32_t first = returns ? 1 : 0;
  const Address address = address_of(e, e.operand(first), space);
  if (address.space == MemorySpace::kLocal || address.space == MemorySpace::kParam)
    e.invalid("not a space for atomics");
  const uint32_t count = e.has("v2") ? 2 : e.has("v4") ? 4 : e.has("v8") ? 8 : 1;
  const Slot d =
      returns && count == 1 && e.operand(0).kind != OperandKind::kSink ? e.destination(0, type) : kNoSlot;
  const auto place = [&](Inst& inst) {
    inst.src[0] = address.base;
    inst.imm = address.distance;
    inst.flags = address_flags(address);
    inst.cache = e.cache_entry();
    inst.extra = static_cast<uint32_t>(address.space);
    inst.dst = d;
  };
  if (e.has("cas")) {
    const Slot compare = e.source(first + 1, type), value = e.source(first + 2, type);
    with_bits(e, type, [&]<class T>() {
      Inst& inst = e.emit(compare_and_swap<T>);
      place(inst);
      inst.src[1] = compare;
      inst.src[2] = value;
    });
    return;
  }
  const auto element = [&](Slot target, Slot value, Slot base, uint64_t distance, Handler handler) {
    Inst& inst = e.emit(handler);
    place(inst);
    inst.dst = target;
    inst.src[0] = base;
    inst.src[1] = value;
    inst.imm = distance;
    // The ISA flushes denormals in f32 atomics on global memory; on shared memory it keeps them.
    if (type == Type::kF32 && address.space != MemorySpace::kShared) inst.float_mode = kFlush;
  };
  const Operand& from = e.operand(first + 1);
  if (count == 1) {
    const Slot value = e.source(first + 1, type);
    element(d, value, address.base, address.distance, operation(e, type));
    return;
  }
  // A vector is atomic element by element.
  if (from.kind != OperandKind::kVector || from.count != count) e.invalid("the vector has the wrong length");
  Slot base = address.base;
  if (returns && base != kNoSlot) {  // the base register may be one of the destinations
    base = e.temporary(address.wide ? 8 : 4);
    Inst& copy = e.emit_always(address.wide ? unary<uint64_t, uint64_t>([](uint64_t v) { return v; })
                                            : unary<uint32_t, uint32_t>([](uint32_t v) { return v; }));
    copy.dst = base;
    copy.src[0] = address.base;
  }
  const Handler handler = operation(e, type);
  for (uint32_t k = 0; k < count; ++k) {
    const Slot target = returns ? e.destination(e.element(e.operand(0), k), type) : kNoSlot;
    element(target, e.source(e.element(from, k), type), base, address.distance + k * type_bytes(type),
            handler);
  }
}

void select_fence(Emitter& e) {
  e.has_any({"proxy", "alias", "async", "async::global", "tensormap::generic", "level::eviction_priority"});
  e.has_any({"cta", "gl", "sys", "gpu", "cluster", "sc", "acq_rel", "acquire", "release", "mbarrier_init",
             "proxy::alias", "proxy::async", "proxy::async::global", "proxy::async::shared::cta"});
  e.emit_always(fence);
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
