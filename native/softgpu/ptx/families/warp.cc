// Lanes talk to each other: shfl vote match activemask redux elect. The lanes that a member mask names
// are mostly together, as they are after reconvergence; where they are not, those here wait for the
// others (join_lanes).
#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

enum class Shuffle : uint8_t { kUp, kDown, kButterfly, kIndex };

// src: value, distance or index, clamp and segment, [member mask]; the predicate is in extra - 1.
template <Shuffle kMode>
const Inst* shuffle(Warp& warp, const Inst* in) {
  uint32_t a[kLanes];
  std::memcpy(a, warp.at(in->src[0]), sizeof a);
  const uint32_t* const b = warp.src<uint32_t>(in->src[1]);
  const uint32_t* const c = warp.src<uint32_t>(in->src[2]);
  uint32_t* const d = warp.dst<uint32_t>(in->dst);
  uint32_t valid = 0;
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(bits));
    const uint32_t segment = c[lane] >> 8 & 0x1f;
    const uint32_t clamp = c[lane] & 0x1f;
    const uint32_t value = b[lane] & 0x1f;
    const uint32_t low = lane & segment;
    const uint32_t high = low | (clamp & ~segment);
    uint32_t from = 0;
    bool inside = false;
    switch (kMode) {
      case Shuffle::kUp: {
        const int32_t at = static_cast<int32_t>(lane) - static_cast<int32_t>(value);
        inside = at >= static_cast<int32_t>(high);
        from = static_cast<uint32_t>(at) & 31;
        break;
      }
      case Shuffle::kDown:
        from = lane + value;
        inside = from <= high;
        break;
      case Shuffle::kButterfly:
        from = lane ^ value;
        inside = from <= high;
        break;
      default:
        from = low | (value & ~segment & 0x1f);
        inside = from <= high;
        break;
    }
    if (!inside) from = lane;
    d[lane] = a[from];
    valid |= static_cast<uint32_t>(inside ? 1u : 0u) << lane;
  }
  if (in->extra != kNoSlot) warp.set_predicate(in->extra, valid);
  return in + 1;
}

enum class Vote : uint8_t { kAll, kAny, kUniform, kBallot };

template <Vote kVote>
uint32_t outcome(uint32_t yes, uint32_t lanes) {
  if constexpr (kVote == Vote::kBallot) return yes;
  if constexpr (kVote == Vote::kAll) return yes == lanes ? 0xffffffffu : 0;
  if constexpr (kVote == Vote::kAny) return yes != 0 ? 0xffffffffu : 0;
  return yes == 0 || yes == lanes ? 0xffffffffu : 0;
}

template <Vote kVote>
const Inst* vote(Warp& warp, const Inst* in) {
  const uint32_t p = warp.predicate(in->src[0]);
  const uint32_t* const mask = in->src[1] == kNoSlot ? nullptr : warp.src<uint32_t>(in->src[1]);
  const uint32_t first = mask != nullptr ? mask[__builtin_ctz(warp.exec)] : 0xffffffffu;
  uint32_t others = 0;
  if (mask != nullptr) {
    for (uint32_t i = 0; i < kLanes; ++i) others |= (warp.exec >> i & 1) != 0 ? mask[i] ^ first : 0;
  }
  if (others == 0) [[likely]] {
    const uint32_t lanes = warp.exec & first;
    const uint32_t result = outcome<kVote>(p & lanes, lanes);
    if constexpr (kVote == Vote::kBallot) {
      return each<uint32_t>(warp, in, [=](uint32_t) { return result; });
    } else {
      warp.set_predicate(in->dst, result);
      return in + 1;
    }
  }
  // Groups of lanes, such as tiles of a warp, vote side by side.
  uint32_t results[kLanes] = {};
  uint32_t bits = 0;
  for (uint32_t left = warp.exec; left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(left));
    const uint32_t lanes = warp.exec & mask[i];
    results[i] = outcome<kVote>(p & lanes, lanes);
    bits |= (results[i] & 1u) << i;
  }
  if constexpr (kVote == Vote::kBallot) {
    blend(warp.dst<uint32_t>(in->dst), results, warp.exec);
  } else {
    warp.set_predicate(in->dst, bits);
  }
  return in + 1;
}

template <class T, bool kAll>
const Inst* match(Warp& warp, const Inst* in) {
  const T* const a = warp.src<T>(in->src[0]);
  const uint32_t* const mask = warp.src<uint32_t>(in->src[1]);
  uint32_t result[kLanes] = {};
  uint32_t same_everywhere = 0;
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(bits));
    const uint32_t members = mask[lane] & warp.exec;
    uint32_t same = 0;
    for (uint32_t others = members; others != 0; others &= others - 1) {
      const auto other = static_cast<uint32_t>(__builtin_ctz(others));
      same |= static_cast<uint32_t>(a[other] == a[lane] ? 1u : 0u) << other;
    }
    if (same == members) same_everywhere |= 1u << lane;
    result[lane] = kAll ? (same == members ? members : 0) : same;
  }
  blend(warp.dst<uint32_t>(in->dst), result, warp.exec);
  if (in->extra != kNoSlot) warp.set_predicate(in->extra, same_everywhere);
  return in + 1;
}

const Inst* active_mask(Warp& warp, const Inst* in) {
  const uint32_t mask = warp.exec;
  return each<uint32_t>(warp, in, [=](uint32_t) { return mask; });
}

struct AddOp {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a + b; }
};
struct MinU {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a < b ? a : b; }
};
struct MaxU {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a < b ? b : a; }
};
struct MinS {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
  }
};
struct MaxS {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a;
  }
};
struct AndOp {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a & b; }
};
struct OrOp {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a | b; }
};
struct XorOp {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a ^ b; }
};

template <class F>
const Inst* reduce(Warp& warp, const Inst* in) {
  const uint32_t* const a = warp.src<uint32_t>(in->src[0]);
  const uint32_t* const mask = warp.src<uint32_t>(in->src[1]);
  uint32_t result[kLanes] = {};
  for (uint32_t left = warp.exec; left != 0;) {
    const uint32_t members = mask[__builtin_ctz(left)] & warp.exec;
    if (members == 0) break;
    auto first = static_cast<uint32_t>(__builtin_ctz(members));
    uint32_t value = a[first];
    for (uint32_t bits = members & (members - 1); bits != 0; bits &= bits - 1)
      value = F{}(value, a[__builtin_ctz(bits)]);
    for (uint32_t bits = members; bits != 0; bits &= bits - 1) result[__builtin_ctz(bits)] = value;
    left &= ~members;
  }
  blend(warp.dst<uint32_t>(in->dst), result, warp.exec);
  return in + 1;
}

// elect.sync d|p, mask: one lane of each mask leads.
const Inst* elect(Warp& warp, const Inst* in) {
  const uint32_t* const mask = warp.src<uint32_t>(in->src[0]);
  uint32_t leaders[kLanes] = {};
  uint32_t elected = 0;
  for (uint32_t left = warp.exec; left != 0; left &= left - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(left));
    const uint32_t members = mask[i] & warp.exec;
    leaders[i] = members == 0 ? 0 : static_cast<uint32_t>(__builtin_ctz(members));
    elected |= static_cast<uint32_t>(leaders[i] == i ? 1u : 0u) << i;
  }
  blend(warp.dst<uint32_t>(in->dst), leaders, warp.exec);
  if (in->extra != kNoSlot) warp.set_predicate(in->extra, elected);
  return in + 1;
}

const Inst* together(Warp& warp, const Inst* in) {
  const uint32_t mask = warp.src<uint32_t>(in->guard)[__builtin_ctz(warp.exec)];
  if ((mask & warp.live & ~warp.exec) == 0) [[likely]]
    return in->inner(warp, in);
  return join_lanes(warp, in, mask);
}

// Emits a handler that all lanes of `mask` execute together.
Inst& emit_together(Emitter& e, Handler handler, Slot mask, Slot dst, std::initializer_list<Slot> sources) {
  e.branch_around();
  Inst& inst = e.emit(handler, dst, sources);
  if (mask == kNoSlot) return inst;
  inst.inner = handler;
  inst.run = together;
  inst.guard = mask;
  return inst;
}

}  // namespace

void select_warp_barrier(Emitter& e) {
  const Slot mask = e.source(0, Type::kB32);
  emit_together(e, [](Warp&, const Inst* in) -> const Inst* { return in + 1; }, mask, kNoSlot, {});
}

void select_shuffle(Emitter& e) {
  e.has("sync");
  const Handler handler = e.has("up")     ? shuffle<Shuffle::kUp>
                          : e.has("down") ? shuffle<Shuffle::kDown>
                          : e.has("bfly") ? shuffle<Shuffle::kButterfly>
                          : e.has("idx")  ? shuffle<Shuffle::kIndex>
                                          : nullptr;
  if (handler == nullptr) e.invalid("expected .up, .down, .bfly or .idx");
  e.type(0);
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kB32), b = e.source(2, Type::kB32),
             c = e.source(3, Type::kB32);
  const Slot mask = e.operand_count() > 4 ? e.source(4, Type::kB32) : kNoSlot;
  const Slot p = e.second_destination();
  emit_together(e, handler, mask, d, {a, b, c}).extra = p;
}

void select_vote(Emitter& e) {
  const bool sync = e.has("sync");
  const bool all = e.has("all"), any = e.has("any"), uniform = e.has("uni"), ballot = e.has("ballot");
  e.type(0);
  const Slot p = e.predicate(1);
  const Slot mask = sync ? e.source(2, Type::kB32) : kNoSlot;
  if (ballot) {
    emit_together(e, vote<Vote::kBallot>, mask, e.destination(0, Type::kB32), {p, mask});
    return;
  }
  const Handler handler = all       ? vote<Vote::kAll>
                          : any     ? vote<Vote::kAny>
                          : uniform ? vote<Vote::kUniform>
                                    : nullptr;
  if (handler == nullptr) e.invalid("expected .all, .any, .uni or .ballot");
  emit_together(e, handler, mask, e.predicate_destination(e.operand(0)), {p, mask});
}

void select_match(Emitter& e) {
  const bool all = e.has("all");
  if (!all && !e.has("any")) e.invalid("expected .any or .all");
  e.has("sync");
  const Type type = e.type(0);
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, type), mask = e.source(2, Type::kB32);
  const Slot p = e.second_destination();
  const Handler handler = type_bytes(type) == 4 ? (all ? match<uint32_t, true> : match<uint32_t, false>)
                                                : (all ? match<uint64_t, true> : match<uint64_t, false>);
  emit_together(e, handler, mask, d, {a, mask}).extra = p;
}

void select_active_mask(Emitter& e) {
  e.type(0);
  e.emit(active_mask, e.destination(0, Type::kB32), {});
}

void select_reduce(Emitter& e) {
  e.has("sync");
  const Type type = e.type(0);
  if (type != Type::kU32 && type != Type::kS32 && type != Type::kB32)
    e.unsupported("the type is not supported");
  const bool sign = type == Type::kS32;
  const Handler handler = e.has("add")   ? reduce<AddOp>
                          : e.has("min") ? (sign ? reduce<MinS> : reduce<MinU>)
                          : e.has("max") ? (sign ? reduce<MaxS> : reduce<MaxU>)
                          : e.has("and") ? reduce<AndOp>
                          : e.has("or")  ? reduce<OrOp>
                          : e.has("xor") ? reduce<XorOp>
                                         : nullptr;
  if (handler == nullptr) e.invalid("expected an operation");
  const Slot d = e.destination(0, Type::kB32), a = e.source(1, Type::kB32), mask = e.source(2, Type::kB32);
  emit_together(e, handler, mask, d, {a, mask});
}

void select_elect(Emitter& e) {
  e.has("sync");
  const Slot d = e.destination(0, Type::kB32), mask = e.source(1, Type::kB32);
  const Slot p = e.second_destination();
  emit_together(e, elect, mask, d, {mask}).extra = p;
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
