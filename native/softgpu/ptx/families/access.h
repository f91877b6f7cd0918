// What loads, stores and atomics share: how an address operand and a state space become an Inst.
#pragma once

#include "softgpu/ptx/exec/memory.h"
#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

// The address of an instruction: a slot of 4- or 8-byte addresses and a constant distance.
struct Address {
  MemorySpace space = MemorySpace::kGlobal;
  Slot base = kNoSlot;    // kNoSlot: the distance alone, the same for all lanes
  bool wide = true;       // 8-byte addresses
  bool in_frame = false;  // local memory, relative to the current activation
  uint64_t distance = 0;
};

// Takes the state-space modifier; kGeneric when there is none.
inline MemorySpace take_space(Emitter& e) {
  if (e.has_any({"shared", "shared::cta"})) return MemorySpace::kShared;
  if (e.has_any({"global", "const"})) return MemorySpace::kGlobal;
  if (e.has("local")) return MemorySpace::kLocal;
  if (e.has_any({"param", "param::entry", "param::func"})) return MemorySpace::kParam;
  return MemorySpace::kGeneric;
}

inline Address address_of(Emitter& e, const Operand& operand, MemorySpace space) {
  if (operand.kind != OperandKind::kAddress) e.invalid("expected an address in brackets");
  Address result;
  result.space = space;
  result.distance = operand.value;
  if (operand.variable != kNone) {
    const VariableDecl& variable = e.module().variables[operand.variable];
    switch (variable.space) {
      case StateSpace::kGlobal:
      case StateSpace::kConst:
        if (space != MemorySpace::kGlobal && space != MemorySpace::kGeneric)
          e.invalid("the variable is in another space");
        result.space = MemorySpace::kGlobal;
        result.base = e.address_constant(operand.variable, 0);
        return result;
      case StateSpace::kShared:
        if (space != MemorySpace::kShared && space != MemorySpace::kGeneric)
          e.invalid("the variable is in another space");
        result.space = MemorySpace::kShared;
        if (e.layout().offset[operand.variable] == kNone) {
          result.base = e.temporary(4);
          result.wide = false;
          Inst& inst = e.emit_always(e.isa().dynamic_shared(4));
          inst.dst = result.base;
        } else {
          result.distance += e.layout().offset[operand.variable];
        }
        return result;
      case StateSpace::kLocal:
      case StateSpace::kParam:
        result.distance += e.layout().offset[operand.variable];
        if (variable.space == StateSpace::kParam && e.is_kernel_parameter(operand.variable)) {
          if (space != MemorySpace::kParam) e.invalid("the variable is in another space");
          result.space = MemorySpace::kParam;
          return result;
        }
        result.space = MemorySpace::kLocal;
        result.in_frame = true;
        return result;
      default:
        e.invalid("the variable cannot be addressed");
    }
  }
  if (space == MemorySpace::kParam && !e.function().is_entry) result.space = MemorySpace::kLocal;
  if (operand.index == kNone) return result;
  Operand base;
  base.kind = OperandKind::kRegister;
  base.index = operand.index;
  const Type declared = e.register_type(base);
  result.wide = lane_width(declared) == 8;
  if (!result.wide && lane_width(declared) != 4) e.invalid("an address has 32 or 64 bits");
  result.base = e.source(base, result.wide ? Type::kB64 : Type::kB32);
  return result;
}

// Addresses of all lanes, computed as the ISA does: 64-bit arithmetic.
struct Addresses {
  uint64_t at[kLanes];
};

constexpr uint16_t kAddressUniform = 1, kAddressNarrow = 2, kAddressInFrame = 4;

inline uint16_t address_flags(const Address& address) {
  return static_cast<uint16_t>((address.base == kNoSlot ? kAddressUniform : 0) |
                               (address.wide ? 0 : kAddressNarrow) |
                               (address.in_frame ? kAddressInFrame : 0));
}

[[gnu::always_inline]] inline void compute_addresses(const Warp& warp, const Inst* in, Slot base,
                                                     Addresses& out) {
  const uint64_t distance = in->imm;
  if ((in->flags & kAddressUniform) != 0) {
    const uint64_t address = distance + ((in->flags & kAddressInFrame) != 0 ? warp.frame->local_base : 0);
    SLUICE_LANES(i) out.at[i] = address;
  } else if ((in->flags & kAddressNarrow) != 0) {
    const uint32_t* const a = warp.src<uint32_t>(base);
    SLUICE_LANES(i) out.at[i] = a[i] + distance;
  } else {
    const uint64_t* const a = warp.src<uint64_t>(base);
    SLUICE_LANES(i) out.at[i] = a[i] + distance;
  }
}

// Whether lane i's address is lane 0's plus i * step, and the lowest and highest address.
[[gnu::always_inline]] inline bool is_run(const Addresses& a, uint64_t step) {
  uint64_t difference = 0;
  for (uint32_t i = 0; i < kLanes; ++i) difference |= a.at[i] ^ (a.at[0] + i * step);
  return difference == 0;
}

struct Span {
  uint64_t low;
  uint64_t high;
  uint64_t bits;  // or of all, for the alignment
};
[[gnu::always_inline]] inline Span span_of(const Addresses& a) {
  Span span{~uint64_t{0}, 0, 0};
  for (uint32_t i = 0; i < kLanes; ++i) {
    // Addresses stay below 2^63: signed comparison, which vectors have.
    span.low = static_cast<int64_t>(a.at[i]) < static_cast<int64_t>(span.low) || i == 0 ? a.at[i] : span.low;
    span.high =
        static_cast<int64_t>(a.at[i]) > static_cast<int64_t>(span.high) || i == 0 ? a.at[i] : span.high;
    span.bits |= a.at[i];
  }
  return span;
}

// Host address that device address 0 of this space would have when all lanes' accesses are valid in
// one contiguous piece of memory; false sends the lanes one by one.
[[gnu::always_inline]] inline bool flat_base(const Warp& warp, const Inst* in, MemorySpace space,
                                             const Span& span, uint32_t bytes, char*& base) {
  if ((span.bits & (bytes - 1)) != 0) return false;
  if (space == MemorySpace::kShared) {
    base = warp.block->shared;
    return static_cast<int64_t>(span.low) >= 0 &&
           static_cast<int64_t>(span.high + bytes) <= warp.block->launch->shared_bytes;
  }
  if (space == MemorySpace::kGlobal || space == MemorySpace::kGeneric) {
    base = nullptr;
    const CachedRange& range = warp.thread->ranges[in->cache];
    return span.low >= range.begin && span.high < range.end && bytes <= range.end - span.high;
  }
  return false;
}

}  // namespace
}  // namespace sluice::ptx::SLUICE_PTX_ISA
