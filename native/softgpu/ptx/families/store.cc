// Stores: st.
#include "softgpu/ptx/families/access.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

constexpr uint32_t kMaxVector = 8;

template <class T, class R, MemorySpace kSpace>
const Inst* store(Warp& warp, const Inst* in) {
  Addresses a;
  compute_addresses(warp, in, in->src[0], a);
  const R* const v = warp.src<R>(in->src[1]);
  const uint32_t exec = warp.exec;
  if (exec != 0xffffffffu) {
    const auto first = a.at[static_cast<uint32_t>(__builtin_ctz(exec))];
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
    if (sizeof(T) == sizeof(R) && exec == 0xffffffffu && is_run(a, sizeof(T))) {
      std::memcpy(base + a.at[0], v, sizeof(T) * kLanes);
      return in + 1;
    }
    if (exec == 0xffffffffu) {
      for (uint32_t i = 0; i < kLanes; ++i) *reinterpret_cast<T*>(base + a.at[i]) = static_cast<T>(v[i]);
      return in + 1;
    }
    for (uint32_t bits = exec; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
      *reinterpret_cast<T*>(base + a.at[i]) = static_cast<T>(v[i]);
    }
    return in + 1;
  }
  for (uint32_t bits = exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    const T value = static_cast<T>(v[i]);
    if (!store_lane(warp, in, kSpace, i, a.at[i], &value, sizeof(T))) return nullptr;
  }
  return in + 1;
}

template <class T, class R>
const Inst* store_local(Warp& warp, const Inst* in) {
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
      auto* const words = reinterpret_cast<uint32_t*>(local_word(warp.local, 0, offset));
      const T* const v = warp.src<T>(in->src[1]);
      SLUICE_LANES(i) words[i] = (exec >> i & 1) != 0 ? static_cast<uint32_t>(v[i]) : words[i];
      if constexpr (sizeof(T) == 8) {
        uint32_t* const high = words + kLanes;
        SLUICE_LANES(i) high[i] = (exec >> i & 1) != 0 ? static_cast<uint32_t>(v[i] >> 32) : high[i];
      }
      return in + 1;
    }
  }
  return store<T, R, MemorySpace::kLocal>(warp, in);
}

template <class T, class R>
const Inst* store_vector(Warp& warp, const Inst* in) {
  Addresses a;
  compute_addresses(warp, in, in->src[0], a);
  const uint32_t* const slots = &warp.frame->code->extra[in->extra];
  const uint32_t count = in->src[3];
  const uint32_t bytes = count * static_cast<uint32_t>(sizeof(T));
  const auto space = static_cast<MemorySpace>(in->src[2]);
  const uint32_t exec = warp.exec;
  const auto first = a.at[static_cast<uint32_t>(__builtin_ctz(exec))];
  SLUICE_LANES(i) a.at[i] = (exec >> i & 1) != 0 ? a.at[i] : first;
  const Span span = span_of(a);
  char* base = nullptr;
  bool flat = flat_base(warp, in, space, span, bytes, base);
  if (!flat && space == MemorySpace::kGlobal && (span.bits & (bytes - 1)) == 0 &&
      find_range(*warp.thread, span.low, 1, in->cache)) {
    flat = flat_base(warp, in, space, span, bytes, base);
  }
  if (flat) [[likely]] {
    // Lane by lane, so that where lanes collide one lane's whole vector wins.
    for (uint32_t bits = exec; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
      for (uint32_t k = 0; k < count; ++k) {
        *reinterpret_cast<T*>(base + a.at[i] + k * sizeof(T)) = static_cast<T>(warp.src<R>(slots[k])[i]);
      }
    }
    return in + 1;
  }
  for (uint32_t bits = exec; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
    T values[kMaxVector];
    for (uint32_t k = 0; k < count; ++k) values[k] = static_cast<T>(warp.src<R>(slots[k])[i]);
    if (!store_lane(warp, in, space, i, a.at[i], values, bytes)) return nullptr;
  }
  return in + 1;
}

template <class T, class R>
Handler store_for(MemorySpace space) {
  switch (space) {
    case MemorySpace::kGlobal:
      return store<T, R, MemorySpace::kGlobal>;
    case MemorySpace::kShared:
      return store<T, R, MemorySpace::kShared>;
    case MemorySpace::kLocal:
      return store_local<T, R>;
    default:
      return store<T, R, MemorySpace::kGeneric>;
  }
}

template <class F>
void with_memory(Emitter& e, Type type, F f) {
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

}  // namespace

void select_store(Emitter& e) {
  const MemorySpace space = take_space(e);
  e.has_any({"wb",
             "cg",
             "cs",
             "wt",
             "volatile",
             "relaxed",
             "release",
             "weak",
             "mmio",
             "cta",
             "cluster",
             "gpu",
             "sys",
             "L1::evict_normal",
             "L1::evict_unchanged",
             "L1::evict_first",
             "L1::evict_last",
             "L1::no_allocate",
             "L2::cache_hint",
             "L2::evict_normal",
             "L2::evict_first",
             "L2::evict_last"});
  const uint32_t count = e.has("v2") ? 2 : e.has("v4") ? 4 : e.has("v8") ? 8 : 1;
  const Type type = e.type(0);
  const Address address = address_of(e, e.operand(0), space);
  if (address.space == MemorySpace::kParam) e.invalid("kernel parameters cannot be written");
  const Operand& from = e.operand(1);
  const auto place = [&](Inst& inst) {
    inst.src[0] = address.base;
    inst.imm = address.distance;
    inst.flags = address_flags(address);
    inst.cache = e.cache_entry();
  };
  if (count == 1) {
    const Slot v = from.kind == OperandKind::kVector ? e.source(e.element(from, 0), type, true)
                                                     : e.source(from, type, true);
    with_memory(e, type, [&]<class T, class R>() {
      Inst& inst = e.emit(store_for<T, R>(address.space), kNoSlot, {});
      place(inst);
      inst.src[1] = v;
    });
    return;
  }
  if (from.kind != OperandKind::kVector || from.count != count) e.invalid("the vector has the wrong length");
  if (count * type_bytes(type) > 32) e.invalid("the vector is too wide");
  std::vector<Slot> slots;
  for (uint32_t k = 0; k < count; ++k) slots.push_back(e.source(e.element(from, k), type, true));
  if (address.space == MemorySpace::kLocal) {
    for (uint32_t k = 0; k < count; ++k) {
      with_memory(e, type, [&]<class T, class R>() {
        Inst& inst = e.emit(store_local<T, R>, kNoSlot, {});
        place(inst);
        inst.imm = address.distance + k * sizeof(T);
        inst.src[1] = slots[k];
      });
    }
    return;
  }
  const uint32_t extra = e.extra_size();
  for (const Slot slot : slots) e.add_extra(slot);
  with_memory(e, type, [&]<class T, class R>() {
    Inst& inst = e.emit(store_vector<T, R>, kNoSlot, {});
    place(inst);
    inst.src[2] = static_cast<uint32_t>(address.space);
    inst.src[3] = count;
    inst.extra = extra;
  });
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
