// bar and barrier: sync, arrive, red; bar.warp.sync; bar.cta.
#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

enum : uint16_t { kWaits = 1 };

const Inst* sync(Warp& warp, const Inst* in) {
  const auto first = static_cast<uint32_t>(__builtin_ctz(warp.exec));
  const uint32_t id = warp.src<uint32_t>(in->src[0])[first];
  const uint32_t count = in->src[1] == kNoSlot ? 0 : warp.src<uint32_t>(in->src[1])[first];
  const uint32_t yes = in->src[2] == kNoSlot ? 0 : warp.predicate(in->src[2]);
  return barrier(warp, in, in + 1, id, count, (in->flags & kWaits) != 0, yes);
}

const Inst* popc_result(Warp& warp, const Inst* in) {
  const uint32_t value = warp.barrier_true;
  return each<uint32_t>(warp, in, [=](uint32_t) { return value; });
}

const Inst* and_result(Warp& warp, const Inst* in) {
  warp.set_predicate(in->dst, warp.barrier_true == warp.barrier_lanes ? 0xffffffffu : 0);
  return in + 1;
}

const Inst* or_result(Warp& warp, const Inst* in) {
  warp.set_predicate(in->dst, warp.barrier_true != 0 ? 0xffffffffu : 0);
  return in + 1;
}

}  // namespace

void select_barrier(Emitter& e) {
  if (e.has("warp")) {
    e.has("sync");
    return select_warp_barrier(e);
  }
  e.has_any({"cta", "aligned"});
  if (e.has("cluster")) {
    // Without clusters a block is its own cluster; arrive and wait are one barrier's two halves.
    e.unsupported("cluster barriers are not supported");
  }
  const bool red = e.has("red");
  const bool arrive = e.has("arrive");
  if (!red && !arrive && !e.has("sync")) e.invalid("expected .sync, .arrive or .red");
  const bool popc = e.has("popc"), all = e.has("and"), any = e.has("or");
  const uint32_t base = red ? 1 : 0;
  if (red) e.type(0);
  const uint32_t operands = e.operand_count();
  const Slot id = e.source(base, Type::kU32);
  const bool has_count = red ? operands == 4 : operands > 1;
  const Slot count = has_count ? e.source(base + 1, Type::kU32) : kNoSlot;
  if (arrive && !has_count) e.invalid("a count is missing");
  const Slot p = red ? e.predicate(operands - 1) : kNoSlot;
  e.branch_around();
  e.emit(sync, kNoSlot, {id, count, p}).flags = arrive ? 0 : kWaits;
  if (!red) return;
  if (popc) {
    e.emit(popc_result, e.destination(0, Type::kU32), {});
  } else if (all || any) {
    e.emit(all ? and_result : or_result, e.predicate_destination(e.operand(0)), {});
  } else {
    e.invalid("expected .popc, .and or .or");
  }
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
