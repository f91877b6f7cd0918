// Loads: ld, ldu, and prefetch, which has nothing to do.
#include "softgpu/ptx/families/access.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

constexpr uint32_t kMaxVector = 8;

// T is what memory holds, R what a lane of the destination slot holds (8-bit values live in 16 bits,
// sign-extended where T is signed). Destinations of vector elements are in extra.
template <class T, class R, MemorySpace kSpace>
const Inst* load(Warp& warp, const Inst* in) {
  Addresses a;
  compute_addresses(warp, in, in->src[0], a);
  if (warp.exec != 0xffffffffu) {
    const auto first = a.at[static_cast<uint32_t>(__builtin_ctz(warp.exec))];
    const uint32_t exec = warp.exec;
    SLUICE_LANES(i) a.at[i] = (exec >> i & 1) != 0 ? a.at[i] : first;
  }
  const Span span = span_of(a);
  char* base = nullptr;
  bool flat = flat_base(warp, in, kSpace, span, sizeof(T), base);
  if constexpr (kSpace == MemorySpace::kGlobal) {
    if (!flat && (span.bits & (sizeof(T) - 1)) == 0 && find_range(*warp.thread, span.low, 1, in->cache)) {
      flat = flat_base(warp, in, kSpace, span, sizeof(T), base);
    }
  }
  if (flat) [[likely]] {
    R* const d = warp.dst<R>(in->dst);
    if (sizeof(T) == sizeof(R) && warp.exec == 0xffffffffu && is_run(a, sizeof(T))) {
      std::memcpy(d, base + a.at[0], sizeof(T) * kLanes);
      return in + 1;
    }
    if (span.low == span.high) {
      const R value = static_cast<R>(*reinterpret_cast<const T*>(base + span.low));
      return each<R>(warp, in, [=](uint32_t) { return value; });
    }
    return each<R>(warp, in,
                   [&](uint32_t i) { return static_cast<R>(*reinterpret_cast<const T*>(base + a.at[i])); });
  }
  R* const d = warp.dst<R>(in->dst);
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    T value;
    if (!load_lane(warp, in, kSpace, i, a.at[i], &value, sizeof(T))) return nullptr;
    d[i] = static_cast<R>(value);
  }
  return in + 1;
}

template <class T, class R, MemorySpace kSpace>
const Inst* load_vector(Warp& warp, const Inst* in) {
  Addresses a;
  compute_addresses(warp, in, in->src[0], a);
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  const uint32_t count = in->src[3];
  const uint32_t bytes = count * static_cast<uint32_t>(sizeof(T));
  const uint32_t exec = warp.exec;
  const auto first = a.at[static_cast<uint32_t>(__builtin_ctz(exec))];
  SLUICE_LANES(i) a.at[i] = (exec >> i & 1) != 0 ? a.at[i] : first;
  const Span span = span_of(a);
  char* base = nullptr;
  bool flat = flat_base(warp, in, kSpace, span, bytes, base);
  if constexpr (kSpace == MemorySpace::kGlobal) {
    if (!flat && (span.bits & (bytes - 1)) == 0 && find_range(*warp.thread, span.low, 1, in->cache)) {
      flat = flat_base(warp, in, kSpace, span, bytes, base);
    }
  }
  if (flat) [[likely]] {
    for (uint32_t k = 0; k < count; ++k) {
      R* const d = warp.dst<R>(slots[k]);
      const char* const from = base + k * sizeof(T);
      if (warp.dense()) {
        SLUICE_LANES(i) d[i] = static_cast<R>(*reinterpret_cast<const T*>(from + a.at[i]));
      } else {
        SLUICE_LANES(i) {
          const R value = static_cast<R>(*reinterpret_cast<const T*>(from + a.at[i]));
          d[i] = (exec >> i & 1) != 0 ? value : d[i];
        }
      }
    }
    return in + 1;
  }
  for (uint32_t bits = exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    T values[kMaxVector];
    if (!load_lane(warp, in, kSpace, i, a.at[i], values, bytes)) return nullptr;
    for (uint32_t k = 0; k < count; ++k) warp.dst<R>(slots[k])[i] = static_cast<R>(values[k]);
  }
  return in + 1;
}

// Local memory: lanes that touch the same offset touch one row.
template <class T, class R>
const Inst* load_local(Warp& warp, const Inst* in) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    Addresses a;
    compute_addresses(warp, in, in->src[0], a);
    const uint64_t offset = a.at[static_cast<uint32_t>(__builtin_ctz(warp.exec))];
    uint64_t difference = 0;
    const uint32_t exec = warp.exec;
    for (uint32_t i = 0; i < kLanes; ++i) difference |= (exec >> i & 1) != 0 ? a.at[i] ^ offset : 0;
    const uint64_t size = warp.block->launch->local_bytes;
    if (difference == 0 && offset % sizeof(T) == 0 && offset < size && sizeof(T) <= size - offset) {
      if (warp.local == nullptr) warp.block->local_memory(warp);
      const char* const row = local_word(warp.local, 0, offset);
      if constexpr (sizeof(T) == 4) {
        const auto* const words = reinterpret_cast<const uint32_t*>(row);
        return each<uint32_t>(warp, in, [=](uint32_t i) { return words[i]; });
      } else {
        const auto* const words = reinterpret_cast<const uint32_t*>(row);
        return each<uint64_t>(warp, in,
                              [=](uint32_t i) { return words[i] | uint64_t{words[i + kLanes]} << 32; });
      }
    }
  }
  return load<T, R, MemorySpace::kLocal>(warp, in);
}

// Kernel parameters: the same for every lane and checked when translated.
template <class T, class R>
const Inst* load_parameter(Warp& warp, const Inst* in) {
  T value;
  std::memcpy(&value, warp.block->launch->params + in->imm, sizeof(T));
  return each<R>(warp, in, [=](uint32_t) { return static_cast<R>(value); });
}

// Shared memory through 32-bit addresses, as compilers write it: half the address arithmetic.
template <class T, class R>
const Inst* load_shared(Warp& warp, const Inst* in) {
  if ((in->flags & kAddressNarrow) == 0) return load<T, R, MemorySpace::kShared>(warp, in);
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const auto distance = static_cast<uint32_t>(in->imm);
  const uint32_t exec = warp.exec;
  alignas(64) uint32_t at[kLanes];
  if (exec == 0xffffffffu) [[likely]] {
    SLUICE_LANES(i) at[i] = a[i] + distance;
  } else {
    const uint32_t first = a[__builtin_ctz(exec)] + distance;
    SLUICE_LANES(i) at[i] = (exec >> i & 1) != 0 ? a[i] + distance : first;
  }
  uint32_t high = 0, bits = 0, apart = 0, steps = 0;
  const uint32_t start = at[0];
  for (uint32_t i = 0; i < kLanes; ++i) {
    high = at[i] > high ? at[i] : high;
    bits |= at[i];
    apart |= at[i] ^ start;
    steps |= at[i] ^ (start + i * static_cast<uint32_t>(sizeof(T)));
  }
  const uint32_t size = warp.block->launch->shared_bytes;
  if ((bits & (sizeof(T) - 1)) != 0 || size < sizeof(T) || high > size - sizeof(T)) [[unlikely]] {
    return load<T, R, MemorySpace::kShared>(warp, in);
  }
  const char* const base = warp.block->shared;
  if (apart == 0) {
    const R value = static_cast<R>(*reinterpret_cast<const T*>(base + start));
    return each<R>(warp, in, [=](uint32_t) { return value; });
  }
  if (sizeof(T) == sizeof(R) && steps == 0 && exec == 0xffffffffu) {
    std::memcpy(warp.dst<R>(in->dst), base + start, sizeof(T) * kLanes);
    return in + 1;
  }
  return each<R>(warp, in, [&](uint32_t i) {
    return static_cast<R>(*reinterpret_cast<const T*>(base + static_cast<int32_t>(at[i])));
  });
}

template <class T, class R>
Handler load_for(MemorySpace space, bool uniform) {
  switch (space) {
    case MemorySpace::kGlobal:
      return load<T, R, MemorySpace::kGlobal>;
    case MemorySpace::kShared:
      return load_shared<T, R>;
    case MemorySpace::kLocal:
      return load_local<T, R>;
    case MemorySpace::kParam:
      return uniform ? load_parameter<T, R> : load<T, R, MemorySpace::kParam>;
    default:
      return load<T, R, MemorySpace::kGeneric>;
  }
}

template <class T, class R>
Handler vector_for(MemorySpace space) {
  switch (space) {
    case MemorySpace::kGlobal:
      return load_vector<T, R, MemorySpace::kGlobal>;
    case MemorySpace::kShared:
      return load_vector<T, R, MemorySpace::kShared>;
    case MemorySpace::kParam:
      return load_vector<T, R, MemorySpace::kParam>;
    default:
      return load_vector<T, R, MemorySpace::kGeneric>;
  }
}

template <class F>
void with_memory(Emitter& e, Type type, F f) {
  if (type == Type::kS8) return f.template operator()<int8_t, int16_t>();
  switch (type_bytes(type)) {
    case 1:
      return f.template operator()<uint8_t, uint16_t>();
    case 2:
      return f.template operator()<uint16_t, uint16_t>();
    case 4:
      return f.template operator()<uint32_t, uint32_t>();
    case 8:
      return f.template operator()<uint64_t, uint64_t>();
    default:
      e.unsupported("the type is not supported");
  }
}

// Everything that is a hint or an ordering. Host loads and stores are ordered as x86 orders them, which
// is stronger than any of these asks for; fences are instructions of their own.
void take_hints(Emitter& e) {
  e.has_any({"ca",
             "cg",
             "cs",
             "lu",
             "cv",
             "wb",
             "wt",
             "nc",
             "volatile",
             "relaxed",
             "acquire",
             "release",
             "weak",
             "mmio",
             "unified",
             "cta",
             "cluster",
             "gpu",
             "sys",
             "L1::evict_normal",
             "L1::evict_unchanged",
             "L1::evict_first",
             "L1::evict_last",
             "L1::no_allocate",
             "L2::evict_normal",
             "L2::evict_first",
             "L2::evict_last",
             "L2::64B",
             "L2::128B",
             "L2::256B"});
}

uint32_t take_vector(Emitter& e) {
  if (e.has("v2")) return 2;
  if (e.has("v4")) return 4;
  if (e.has("v8")) return 8;
  return 1;
}

}  // namespace

void select_load(Emitter& e) {
  const MemorySpace space = take_space(e);
  take_hints(e);
  e.has("L2::cache_hint");
  const uint32_t count = take_vector(e);
  const Type type = e.type(0);
  const Operand& to = e.operand(0);
  const Address address = address_of(e, e.operand(1), space);
  const bool uniform = address.base == kNoSlot;
  if (address.space == MemorySpace::kParam && uniform) {
    const uint64_t bytes = uint64_t{count} * type_bytes(type);
    uint64_t limit = 0;
    for (const uint32_t parameter : e.function().parameters) {
      limit = std::max(limit, e.layout().offset[parameter] + e.module().variables[parameter].bytes);
    }
    if (address.distance > limit || bytes > limit - address.distance)
      e.invalid("the access is outside the parameters");
  }
  const auto place = [&](Inst& inst) {
    inst.src[0] = address.base;
    inst.imm = address.distance;
    inst.flags = address_flags(address);
    inst.cache = e.cache_entry();
  };
  if (type == Type::kB128 && count == 1) {
    e.unsupported("128-bit loads are not supported");
  }
  if (count == 1) {
    const Slot d = to.kind == OperandKind::kVector ? e.destination(e.element(to, 0), type, true)
                                                   : e.destination(to, type, true);
    with_memory(e, type,
                [&]<class T, class R>() { place(e.emit(load_for<T, R>(address.space, uniform), d, {})); });
    return;
  }
  if (to.kind != OperandKind::kVector || to.count != count) e.invalid("the vector has the wrong length");
  if (count * type_bytes(type) > 32) e.invalid("the vector is too wide");
  std::vector<Slot> slots;
  for (uint32_t k = 0; k < count; ++k) slots.push_back(e.destination(e.element(to, k), type, true));
  if (address.space == MemorySpace::kParam && uniform) {
    for (uint32_t k = 0; k < count; ++k) {
      with_memory(e, type, [&]<class T, class R>() {
        Inst& inst = e.emit(load_parameter<T, R>, slots[k], {});
        inst.imm = address.distance + k * sizeof(T);
      });
    }
    return;
  }
  const uint32_t extra = e.extra_size();
  for (const Slot slot : slots) e.add_extra(slot);
  // A local vector goes lane by lane through generic addresses' path only when it must; here each
  // element is a row of its own.
  if (address.space == MemorySpace::kLocal) {
    Address element = address;
    // The base register may be one of the destinations.
    if (!uniform) {
      const uint32_t width = address.wide ? 8 : 4;
      element.base = e.temporary(width);
      Inst& copy = e.emit_always(width == 8 ? unary<uint64_t, uint64_t>([](uint64_t v) { return v; })
                                            : unary<uint32_t, uint32_t>([](uint32_t v) { return v; }));
      copy.dst = element.base;
      copy.src[0] = address.base;
    }
    for (uint32_t k = 0; k < count; ++k) {
      with_memory(e, type, [&]<class T, class R>() {
        Inst& inst = e.emit(load_local<T, R>, slots[k], {});
        inst.src[0] = element.base;
        inst.imm = address.distance + k * sizeof(T);
        inst.flags = address_flags(address);
      });
    }
    return;
  }
  with_memory(e, type, [&]<class T, class R>() {
    Inst& inst = e.emit(vector_for<T, R>(address.space), kNoSlot, {});
    place(inst);
    inst.src[3] = count;
    inst.extra = extra;
  });
}

void select_prefetch(Emitter& e) {
  take_space(e);
  e.has_any({"L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap", "global", "L2::128B"});
  if (e.in().name == "discard" || e.in().name == "applypriority") e.has("L2");
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
