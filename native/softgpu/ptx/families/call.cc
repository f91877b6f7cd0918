// call: direct, through a pointer, and to the functions that the device provides itself (printf,
// assert, malloc, free). Arguments and results are .param variables in local memory, copied between
// the frames, or registers in old code.
#include "softgpu/ptx/exec/device_functions.h"
#include "softgpu/ptx/exec/memory.h"
#include "softgpu/ptx/families/families.h"
#include "softgpu/ptx/program.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

// extra: argument count, then per argument (offset in the caller's frame, bytes); return count, then the
// same for results. imm: function index for a direct call.
struct CallSite {
  const uint32_t* arguments;
  uint32_t argument_count;
  const uint32_t* results;
  uint32_t result_count;
};

CallSite site_of(const Warp& warp, const Inst* in) {
  const uint32_t* p = &warp.frame->code->extra[in->extra];
  CallSite site{};
  site.argument_count = *p++;
  site.arguments = p;
  p += 2 * site.argument_count;
  site.result_count = *p++;
  site.results = p;
  return site;
}

// Copies words of local memory of the lanes that run; offsets are multiples of 4 by layout.
void copy_rows(const Warp& warp, uint64_t from, uint64_t to, uint32_t bytes) {
  for (uint32_t done = 0; done < bytes; done += 4) {
    const auto* const source = reinterpret_cast<const uint32_t*>(local_word(warp.local, 0, from + done));
    auto* const target = reinterpret_cast<uint32_t*>(local_word(warp.local, 0, to + done));
    blend(target, source, warp.exec);
  }
}

const Inst* enter(Warp& warp, const Inst* in, uint32_t index) {
  const Code& callee = warp.block->launch->program->code(index);
  const CallSite site = site_of(warp, in);
  if (callee.insts.empty()) {
    return fault(warp, in, CUDA_ERROR_ILLEGAL_INSTRUCTION, "call of " + callee.name + ", which has no code");
  }
  if (callee.parameter_offsets.size() != site.argument_count) {
    return fault(warp, in, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                 "call of " + callee.name + " with other parameters than it has");
  }
  if (warp.local == nullptr) warp.block->local_memory(warp);
  const uint64_t caller_base = warp.frame->local_base;
  if (--warp.fuel < 0) warp.fuel = 0;
  if (warp.block->launch->stop.load(std::memory_order_relaxed) || warp.block->launch->cancelled()) {
    return fault(warp, in, CUDA_ERROR_LAUNCH_FAILED, "the launch was cancelled");
  }
  if (push_frame(warp, callee, in + 1) == nullptr) {
    return fault(warp, in, CUDA_ERROR_HARDWARE_STACK_ERROR, "stack overflow in the call of " + callee.name);
  }
  for (uint32_t k = 0; k < site.argument_count; ++k) {
    const uint32_t bytes = std::min(site.arguments[2 * k + 1], callee.parameter_bytes[k]);
    copy_rows(warp, caller_base + site.arguments[2 * k], warp.frame->local_base + callee.parameter_offsets[k],
              bytes);
  }
  return callee.insts.data();
}

const Inst* call_direct(Warp& warp, const Inst* in) {
  return enter(warp, in, static_cast<uint32_t>(in->imm));
}

// After the callee's end: results lie in its frame, right above ours.
const Inst* take_results(Warp& warp, const Inst* in) {
  const CallSite site = site_of(warp, in);
  const uint64_t base = warp.frame->local_base;
  const uint64_t above = base + warp.frame->code->local_bytes;
  // Every function lays its results out first, in order, so that no callee needs to be known here.
  uint64_t offset = 0;
  for (uint32_t k = 0; k < site.result_count; ++k) {
    const uint32_t bytes = site.results[2 * k + 1];
    copy_rows(warp, above + offset, base + site.results[2 * k], bytes);
    offset += (bytes + kResultAlign - 1) & ~(kResultAlign - 1);
  }
  return in + 1;
}

// Lanes may hold different functions: each group calls in turn, and all meet after the call.
const Inst* call_indirect(Warp& warp, const Inst* in) {
  const uint64_t* const target = warp.src<uint64_t>(in->src[0]);
  LaneGroup groups[kLanes];
  uint32_t used = 0;
  uint32_t index = 0;
  for (uint32_t left = warp.exec; left != 0;) {
    const uint64_t address = target[__builtin_ctz(left)];
    index = static_cast<uint32_t>((address - kFunctionWindow) / 16) - 1;
    if (address <= kFunctionWindow || address - kFunctionWindow >= kWindowBytes || address % 16 != 0 ||
        !warp.block->launch->program->has_code(index)) {
      return fault(warp, in, CUDA_ERROR_INVALID_PC, "call of an address that is no function");
    }
    uint32_t lanes = 0;
    for (uint32_t bits = left; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctz(bits));
      if (target[i] == address) lanes |= 1u << i;
    }
    groups[used++] = {lanes, in};
    left &= ~lanes;
  }
  if (used > 1) return split_many(warp, groups, used, in + in->reconverge);
  return enter(warp, in, index);
}

const Inst* call_device_function(Warp& warp, const Inst* in) {
  if (warp.local == nullptr) warp.block->local_memory(warp);
  const CallSite site = site_of(warp, in);
  uint64_t results[kLanes] = {};
  const auto which = static_cast<DeviceFunction>(in->imm);
  for (uint32_t bits = warp.exec; bits != 0; bits &= bits - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(bits));
    uint64_t arguments[kMaxDeviceArguments] = {};
    for (uint32_t k = 0; k < site.argument_count && k < kMaxDeviceArguments; ++k) {
      const uint32_t size = std::min(site.arguments[2 * k + 1], 8u);
      if (!load_lane(warp, in, MemorySpace::kLocal, lane, warp.frame->local_base + site.arguments[2 * k],
                     &arguments[k], size)) {
        return nullptr;
      }
    }
    if (!run_device_function(which, warp, in, lane, arguments, results[lane])) return nullptr;
  }
  for (uint32_t bits = warp.exec; bits != 0 && site.result_count != 0; bits &= bits - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(bits));
    if (!store_lane(warp, in, MemorySpace::kLocal, lane, warp.frame->local_base + site.results[0],
                    &results[lane], std::min(site.results[1], 8u))) {
      return nullptr;
    }
  }
  return in + 1;
}

}  // namespace

void select_call(Emitter& e) {
  e.has("uni");
  const Instruction& in = e.in();
  const Operand& target = e.operand(in.return_count);
  // Where an argument lies: a .param variable of ours, or a register or constant stored to one.
  std::vector<std::pair<uint32_t, uint32_t>> arguments, results;
  const auto variable = [&](const Operand& operand) {
    if (operand.kind != OperandKind::kVariable ||
        e.module().variables[operand.index].space != StateSpace::kParam ||
        e.is_kernel_parameter(operand.index)) {
      e.unsupported("arguments in registers are not supported");
    }
    return std::make_pair(e.layout().offset[operand.index],
                          static_cast<uint32_t>(e.module().variables[operand.index].bytes));
  };
  for (uint32_t k = 0; k < in.return_count; ++k) results.push_back(variable(e.operand(k)));
  for (uint32_t k = 0; k < in.argument_count; ++k)
    arguments.push_back(variable(e.operand(in.return_count + 1 + k)));
  const uint32_t extra = e.extra_size();
  e.add_extra(static_cast<uint32_t>(arguments.size()));
  for (const auto& [offset, bytes] : arguments) {
    e.add_extra(offset);
    e.add_extra(bytes);
  }
  e.add_extra(static_cast<uint32_t>(results.size()));
  for (const auto& [offset, bytes] : results) {
    e.add_extra(offset);
    e.add_extra(bytes);
  }
  const bool direct = target.kind == OperandKind::kFunction;
  const Slot pointer = direct ? kNoSlot : e.source(target, Type::kB64);
  e.branch_around();
  if (direct) {
    const Function& callee = e.module().functions[target.index];
    if (!callee.has_body) {
      const DeviceFunction device = device_function(callee.name);
      if (device == DeviceFunction::kUnknown) {
        e.unsupported("the function " + std::string(callee.name) + " is not defined in this module");
      }
      Inst& inst = e.emit(call_device_function);
      inst.imm = static_cast<uint64_t>(device);
      inst.extra = extra;
      return;
    }
    Inst& inst = e.emit(call_direct);
    inst.imm = target.index;
    inst.extra = extra;
  } else {
    Inst& inst = e.emit(call_indirect);
    inst.src[0] = pointer;
    inst.extra = extra;
    inst.reconverge = 2;
    // The results of a call are taken group by group, before the groups meet.
  }
  e.emit(take_results).extra = extra;
  if (!direct) e.emit_always(e.isa().meet);
}

}  // namespace sluice::ptx::SLUICE_PTX_ISA
