// Control: bra, brx.idx, exit, ret, trap, brkpt, nanosleep; and the two pieces every function has,
// the guard of a predicated instruction and the place where splits meet.
#include <unordered_map>

#include "softgpu/ptx/families/families.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

const Inst* guarded(Warp& warp, const Inst* in) {
  const uint32_t before = warp.exec;
  const uint32_t lanes = before & warp.predicate(in->guard);
  if (lanes == 0) return in + 1;
  warp.exec = lanes;
  const Inst* const next = in->inner(warp, in);
  warp.exec = before;
  return next;
}

[[gnu::always_inline]] inline const Inst* jump(Warp& warp, const Inst* in) {
  const auto distance = static_cast<int32_t>(in->extra);
  if (distance <= 0 && --warp.fuel < 0) [[unlikely]]
    return take_turns(warp, in + distance);
  return in + distance;
}

const Inst* branch(Warp& warp, const Inst* in) { return jump(warp, in); }

const Inst* branch_if(Warp& warp, const Inst* in) {
  const uint32_t taken = warp.exec & warp.predicate(in->guard);
  if (taken == warp.exec) return jump(warp, in);
  if (taken == 0) return in + 1;
  return split_branch(warp, taken, in + static_cast<int32_t>(in->extra), in + 1,
                      in->reconverge != 0 ? in + in->reconverge : nullptr);
}

const Inst* meet(Warp& warp, const Inst* in) {
  if (warp.reconverge != in) [[likely]]
    return in + 1;
  return arrive(warp, in);
}

const Inst* exit_all(Warp& warp, const Inst* in) { return exit_lanes(warp, warp.exec, in + 1); }

const Inst* exit_some(Warp& warp, const Inst* in) {
  const uint32_t lanes = warp.exec & warp.predicate(in->guard);
  return lanes == 0 ? in + 1 : exit_lanes(warp, lanes, in + 1);
}

const Inst* leave(Warp& warp, const Inst*) { return return_from(warp); }

// brx.idx: lanes go where their index says; equal destinations stay together.
const Inst* branch_index(Warp& warp, const Inst* in) {
  const uint32_t* const index = warp.src<uint32_t>(in->src[0]);
  const uint32_t* const table = &warp.frame->code->extra[in->extra];
  const auto count = static_cast<uint32_t>(in->imm);
  LaneGroup groups[kLanes];
  uint32_t used = 0;
  for (uint32_t left = warp.exec; left != 0;) {
    const uint32_t at = index[__builtin_ctz(left)];
    if (at >= count) return fault(warp, in, CUDA_ERROR_INVALID_PC, "branch index outside its table");
    const Inst* const target = in + static_cast<int32_t>(table[at]);
    uint32_t lanes = 0;
    for (uint32_t bits = left; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
      if (index[i] < count && in + static_cast<int32_t>(table[index[i]]) == target) lanes |= 1u << i;
    }
    groups[used++] = {lanes, target};
    left &= ~lanes;
  }
  if (used == 1) {
    if (groups[0].target <= in && --warp.fuel < 0) return take_turns(warp, groups[0].target);
    return groups[0].target;
  }
  return split_many(warp, groups, used, in->reconverge != 0 ? in + in->reconverge : nullptr);
}

const Inst* trap(Warp& warp, const Inst* in) { return fault(warp, in, CUDA_ERROR_LAUNCH_FAILED, "trap"); }

const Inst* give_way(Warp& warp, const Inst* in) { return take_turns(warp, in + 1); }

}  // namespace

Handler guarded_handler() { return guarded; }
Handler branch_if_handler() { return branch_if; }
Handler meet_handler() { return meet; }
Handler exit_handler() { return exit_all; }
Handler leave_handler() { return leave; }

void select_branch(Emitter& e) {
  e.has("uni");
  const Operand& target = e.operand(0);
  if (target.kind != OperandKind::kLabel) e.invalid("expected a label");
  const Instruction& in = e.in();
  if (in.guard == kNone) {
    e.link_target(e.emit_always(branch), target.index);
    return;
  }
  Inst& inst = e.emit_always(branch_if);
  inst.guard = e.register_slot(in.guard) | (in.guard_negated ? kInverted : 0);
  e.link_target(inst, target.index);
  e.set_reconverge(inst);
}

void select_branch_index(Emitter& e) {
  e.has_any({"idx", "uni"});
  if (e.operand(1).kind != OperandKind::kLabelList) e.invalid("expected a list of branch targets");
  const auto& targets = e.function().label_lists[e.operand(1).index];
  const Slot index = e.source(0, Type::kU32);
  e.branch_around();
  const uint32_t extra = e.extra_size();
  const auto from = static_cast<uint32_t>(e.code().insts.size());
  for (const uint32_t target : targets) {
    e.add_extra(0);
    e.link_extra(e.extra_size() - 1, from, target);
  }
  Inst& inst = e.emit_always(branch_index);
  inst.src[0] = index;
  inst.extra = extra;
  inst.imm = targets.size();
  e.set_reconverge(inst);
}

void select_exit(Emitter& e) {
  const Instruction& in = e.in();
  if (in.guard == kNone) {
    e.emit_always(exit_all);
    return;
  }
  e.emit_always(exit_some).guard = e.register_slot(in.guard) | (in.guard_negated ? kInverted : 0);
}

// A kernel's ret ends the lane; a function's goes to the end of the function, where all lanes meet.
void select_return(Emitter& e) {
  e.has("uni");
  if (e.function().is_entry) return select_exit(e);
  const Instruction& in = e.in();
  const auto end = static_cast<uint32_t>(e.function().code.size());
  if (in.guard == kNone) {
    e.link_target(e.emit_always(branch), end);
    return;
  }
  Inst& inst = e.emit_always(branch_if);
  inst.guard = e.register_slot(in.guard) | (in.guard_negated ? kInverted : 0);
  e.link_target(inst, end);
  e.set_reconverge(inst);
}

void select_trap(Emitter& e) { e.emit(trap); }

void select_nothing(Emitter& e) {
  if (e.in().name == "nanosleep") {
    e.type(0);
    e.branch_around();
    e.emit(give_way);
    return;
  }
  e.has_any({"launch_dependents", "wait", "sync", "aligned"});
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
