// Translates one function: flow, registers, then each instruction by its family.
#include <algorithm>

#include "softgpu/ptx/analysis/operands.h"
#include "softgpu/ptx/program.h"

namespace sluice::ptx {

void ProgramImpl::translate(uint32_t index) {
  const Function& function = module_.functions[index];
  Code& code = codes_[index];
  const Isa& isa = best_isa();
  const auto count = static_cast<uint32_t>(function.code.size());
  try {
    const Flow flow = analyze_flow(function);
    Allocation allocation = allocate_registers(function, flow);
    live_registers_[index] = allocation.live_registers;
    if (function.uses_register_parameters) {
      throw PtxError{CUDA_ERROR_NOT_SUPPORTED, function.line, "parameters in registers are not supported"};
    }
    Emitter emitter(module_, function, layout_, isa, constants_, code, std::move(allocation));
    emitter.flow = &flow;
    // Blocks where lanes that parted at the end of another block meet.
    std::vector<bool> meets(flow.blocks.size(), false);
    for (const FlowBlock& block : flow.blocks) {
      if (block.successors.size() > 1 && block.post_dominator != kNone) meets[block.post_dominator] = true;
    }
    for (uint32_t i = 0; i <= count; ++i) {
      emitter.set_position(i);
      emitter.place(i);
      const uint32_t block = flow.block_of[i];
      if (flow.blocks[block].begin == i && meets[block]) emitter.emit_always(isa.meet);
      if (i == count) break;
      const Instruction& in = function.code[i];
      emitter.begin(in);
      const Select select = isa.find(in.name);
      if (select == nullptr) emitter.unsupported("the instruction is not supported");
      select(emitter);
      emitter.finish();
    }
    emitter.emit_always(function.is_entry ? isa.exit : isa.leave);
    emitter.link();
  } catch (const PtxError& error) {
    // Wrong PTX refuses the module; what the engine cannot do refuses the kernels that need it.
    if (error.code != CUDA_ERROR_NOT_SUPPORTED) throw;
    code.insts.clear();
    code.refusal = error;
    code.refusal.message = code.name + ": " + error.message;
  }
}

}  // namespace sluice::ptx
