// compile(): parse, lay out, translate. Also what a kernel needs: parameters, shared memory, refusals.
#include "softgpu/ptx/program.h"

#include <algorithm>
#include <map>
#include <set>

#include "softgpu/ptx/analysis/operands.h"
#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {
namespace {

uint64_t align_to(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

// The newest ISA whose syntax is known; newer text is read all the same by drivers of the same age only.
constexpr uint32_t kNewestVersion = 99;
constexpr uint32_t kMaxParameterBytes = 32764;
// Statically declared shared memory above this needs a launch attribute no kernel can have.
constexpr uint64_t kMaxStaticShared = 228 * 1024;
constexpr uint64_t kMaxLocal = 512 * 1024;

// Calls f(operand) for every operand of a function, those inside vectors included.
template <class F>
void for_operands(const Function& function, F f) {
  for (const Operand& operand : function.operands) f(operand);
  for (const Operand& operand : function.lists) f(operand);
}

}  // namespace

ProgramImpl::ProgramImpl(std::string text, const CompileOptions& options)
    : text_(std::move(text)), options_(options) {
  module_ = parse_module(text_);
  if (module_.version > kNewestVersion) {
    throw PtxError{CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 1,
                   "PTX version " + std::to_string(module_.version / 10) + "." +
                       std::to_string(module_.version % 10) + " is newer than this driver"};
  }
  if (module_.target > static_cast<uint32_t>(options.compute_capability)) {
    throw PtxError{CUDA_ERROR_NO_BINARY_FOR_GPU, 1,
                   "the module is for sm_" + std::to_string(module_.target) + ", the device is sm_" +
                       std::to_string(options.compute_capability)};
  }
  lay_out();
}

std::vector<uint32_t> ProgramImpl::referenced_variables(uint32_t index) const {
  std::set<uint32_t> seen;
  for_operands(module_.functions[index], [&](const Operand& operand) {
    if (operand.kind == OperandKind::kVariable) seen.insert(operand.index);
    if (operand.kind == OperandKind::kAddress && operand.variable != kNone) seen.insert(operand.variable);
  });
  return {seen.begin(), seen.end()};
}

std::vector<uint32_t> ProgramImpl::callees(uint32_t index, bool& indirect) const {
  std::set<uint32_t> seen;
  const Function& function = module_.functions[index];
  for_operands(function, [&](const Operand& operand) {
    if (operand.kind == OperandKind::kFunction) seen.insert(operand.index);
  });
  for (const Instruction& in : function.code) {
    indirect |= in.name == "call" && function.operand(in, in.return_count).kind != OperandKind::kFunction;
  }
  return {seen.begin(), seen.end()};
}

void ProgramImpl::declare_variables() {
  for (uint32_t v = 0; v < module_.variables.size(); ++v) {
    const VariableDecl& from = module_.variables[v];
    if (from.space != StateSpace::kGlobal && from.space != StateSpace::kConst) continue;
    Variable to;
    to.name = std::string(from.name);
    to.space = from.space == StateSpace::kConst ? Space::kConst : Space::kGlobal;
    to.bytes = from.bytes;
    to.align = from.align;
    to.is_extern = from.is_extern;
    to.is_weak = from.is_weak;
    bound_variables_.push_back(v);
    variables_.push_back(std::move(to));
  }
}

void ProgramImpl::lay_out() {
  const auto count = static_cast<uint32_t>(module_.functions.size());
  declare_variables();
  layout_.offset.assign(module_.variables.size(), kNone);
  codes_.resize(count);
  live_registers_.assign(count, 0);
  for (uint32_t f = 0; f < count; ++f) {
    codes_[f].name = std::string(module_.functions[f].name);
    lay_out_local(f);
  }
  // Everything a kernel may reach. An indirect call may reach every function whose address is taken;
  // all functions with a body stand for those.
  std::vector<std::vector<uint32_t>> direct(count);
  std::vector<bool> indirect(count, false);
  std::vector<uint32_t> bodies;
  for (uint32_t f = 0; f < count; ++f) {
    bool any = false;
    direct[f] = callees(f, any);
    indirect[f] = any;
    if (module_.functions[f].has_body && !module_.functions[f].is_entry) bodies.push_back(f);
  }
  std::vector<std::vector<uint32_t>> reachable(count);
  for (uint32_t f = 0; f < count; ++f) {
    if (!module_.functions[f].is_entry || !module_.functions[f].has_body) continue;
    std::vector<bool> seen(count, false);
    std::vector<uint32_t> work{f};
    seen[f] = true;
    while (!work.empty()) {
      const uint32_t at = work.back();
      work.pop_back();
      reachable[f].push_back(at);
      const auto visit = [&](uint32_t next) {
        if (!seen[next]) {
          seen[next] = true;
          work.push_back(next);
        }
      };
      for (const uint32_t next : direct[at]) visit(next);
      if (indirect[at]) {
        for (const uint32_t next : bodies) visit(next);
      }
    }
  }
  lay_out_shared(reachable);
  for (uint32_t f = 0; f < count; ++f) {
    if (module_.functions[f].has_body) translate(f);
  }
  plan_kernels(reachable);
}

// Local memory of a function: results, parameters, .local and .param variables. A kernel's parameters
// are in the launch's parameter buffer instead.
void ProgramImpl::lay_out_local(uint32_t index) {
  const Function& function = module_.functions[index];
  Code& code = codes_[index];
  uint64_t offset = 0;
  const auto place = [&](uint32_t variable, uint32_t least_align) {
    const VariableDecl& decl = module_.variables[variable];
    // A parameter without a size is the start of variable arguments: it is read through its address.
    offset = align_to(offset, std::max(decl.align, least_align));
    layout_.offset[variable] = static_cast<uint32_t>(offset);
    offset += decl.bytes;
    if (offset > kMaxLocal) throw PtxError{CUDA_ERROR_NOT_SUPPORTED, decl.line, "too much local memory"};
  };
  if (function.is_entry) {
    for (const uint32_t variable : function.parameters) place(variable, 1);
    if (offset > kMaxParameterBytes) {
      throw PtxError{CUDA_ERROR_INVALID_PTX, function.line,
                     "kernel " + code.name + " has too many parameters"};
    }
    offset = 0;
  } else {
    for (const uint32_t variable : function.returns) {
      offset = align_to(offset, kResultAlign);
      layout_.offset[variable] = static_cast<uint32_t>(offset);
      offset += module_.variables[variable].bytes;
    }
    for (const uint32_t variable : function.parameters) {
      place(variable, 4);
      code.parameter_offsets.push_back(layout_.offset[variable]);
      code.parameter_bytes.push_back(static_cast<uint32_t>(module_.variables[variable].bytes));
    }
  }
  if (function.has_body) {
    for (uint32_t v = 0; v < module_.variables.size(); ++v) {
      const VariableDecl& decl = module_.variables[v];
      if (decl.owner != index || layout_.offset[v] != kNone) continue;
      if (decl.space == StateSpace::kLocal || decl.space == StateSpace::kParam) place(v, 4);
    }
  }
  code.local_bytes = static_cast<uint32_t>(align_to(offset, 8));
  if (!function.is_entry) code.local_bytes = std::max(code.local_bytes, 16u);  // a return address, at least
}

// Shared variables that functions use have one place in all kernels, at the bottom; a kernel's own come
// above them, so that kernels which use none of them pay for none.
void ProgramImpl::lay_out_shared(const std::vector<std::vector<uint32_t>>& reachable) {
  const auto place = [&](uint32_t variable, uint64_t& top) {
    const VariableDecl& decl = module_.variables[variable];
    if (decl.space != StateSpace::kShared || decl.is_unsized || (decl.is_extern && decl.bytes == 0)) return;
    if (layout_.offset[variable] != kNone) return;
    top = align_to(top, decl.align);
    layout_.offset[variable] = static_cast<uint32_t>(top);
    top += decl.bytes;
    if (top > kMaxStaticShared) throw PtxError{CUDA_ERROR_INVALID_PTX, decl.line, "too much shared memory"};
  };
  uint64_t common = 0;
  for (uint32_t f = 0; f < module_.functions.size(); ++f) {
    if (module_.functions[f].is_entry) continue;
    for (const uint32_t variable : referenced_variables(f)) place(variable, common);
  }
  std::map<uint32_t, std::vector<uint32_t>> users;  // module-scope variable → kernels that name it
  for (uint32_t f = 0; f < module_.functions.size(); ++f) {
    if (!module_.functions[f].is_entry) continue;
    for (const uint32_t variable : referenced_variables(f)) {
      if (module_.variables[variable].space == StateSpace::kShared) users[variable].push_back(f);
    }
  }
  // Variables that several kernels name keep one place as well.
  for (const auto& [variable, kernels] : users) {
    if (kernels.size() > 1) place(variable, common);
  }
  for (uint32_t f = 0; f < module_.functions.size(); ++f) {
    if (!module_.functions[f].is_entry || !module_.functions[f].has_body) continue;
    KernelPlan plan;
    plan.function = f;
    uint64_t top = 0;
    uint64_t align = 16;
    for (const uint32_t g : reachable[f]) {
      for (const uint32_t variable : referenced_variables(g)) {
        const VariableDecl& decl = module_.variables[variable];
        if (decl.space != StateSpace::kShared) continue;
        if (layout_.offset[variable] != kNone) top = std::max(top, layout_.offset[variable] + decl.bytes);
        if (decl.is_unsized || decl.bytes == 0) align = std::max<uint64_t>(align, decl.align);
      }
    }
    for (const uint32_t variable : referenced_variables(f)) {
      if (module_.variables[variable].space == StateSpace::kShared) place(variable, top);
    }
    plan.static_shared = static_cast<uint32_t>(top);
    plan.dynamic_align = static_cast<uint32_t>(align);
    plans_.push_back(plan);
  }
}

void ProgramImpl::plan_kernels(const std::vector<std::vector<uint32_t>>& reachable) {
  for (KernelPlan& plan : plans_) {
    const Function& function = module_.functions[plan.function];
    const Code& code = codes_[plan.function];
    KernelInfo info;
    info.name = code.name;
    for (const uint32_t parameter : function.parameters) {
      const VariableDecl& decl = module_.variables[parameter];
      info.params.push_back({layout_.offset[parameter], static_cast<uint32_t>(decl.bytes)});
      info.param_bytes =
          std::max(info.param_bytes, layout_.offset[parameter] + static_cast<uint32_t>(decl.bytes));
    }
    info.static_shared_bytes = plan.static_shared;
    info.local_bytes = code.local_bytes;
    info.registers = 0;
    for (const uint32_t f : reachable[plan.function]) {
      const Function& at = module_.functions[f];
      if (f != plan.function) plan.calls = true;
      info.registers = std::max(info.registers, live_registers_[f]);
      if (codes_[f].refusal.code != CUDA_SUCCESS && plan.refusal.code == CUDA_SUCCESS)
        plan.refusal = codes_[f].refusal;
      for_operands(at, [&](const Operand& operand) {
        info.uses_grid_sync |= operand.kind == OperandKind::kSpecial &&
                               operand.index == static_cast<uint32_t>(Special::kEnvreg) &&
                               (operand.component == 1 || operand.component == 2);
      });
    }
    info.registers = std::clamp(info.registers, 8u, 255u);
    info.max_threads = options_.max_threads_per_block;
    const uint32_t* const bound =
        function.required_threads[0] != 0 ? function.required_threads : function.max_threads;
    if (bound[0] != 0) {
      const uint64_t threads = uint64_t{bound[0]} * bound[1] % (uint64_t{1} << 32) * bound[2];
      info.max_threads =
          static_cast<uint32_t>(std::min<uint64_t>(info.max_threads, std::max<uint64_t>(threads, 1)));
    }
    if (function.required_threads[0] != 0) {
      info.required_block = {function.required_threads[0], function.required_threads[1],
                             function.required_threads[2]};
    }
    kernels_.push_back(std::move(info));
  }
}

CompileResult compile(std::string_view ptx, const CompileOptions& options) {
  CompileResult result;
  try {
    result.program = std::make_unique<ProgramImpl>(std::string(ptx), options);
  } catch (const PtxError& error) {
    result.status = {error.code, "PTX line " + std::to_string(error.line) + ": " + error.message};
  } catch (const std::bad_alloc&) {
    result.status = {CUDA_ERROR_OUT_OF_MEMORY, "not enough memory to translate the PTX"};
  } catch (const std::exception& error) {
    result.status = {CUDA_ERROR_INVALID_SOURCE, std::string("the PTX cannot be translated: ") + error.what()};
  }
  return result;
}

}  // namespace sluice::ptx
