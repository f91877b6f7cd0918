// A compiled module: translated functions, constants, and the bookkeeping behind ptx::Program.
#pragma once

#include <string>
#include <vector>

#include "softgpu/ptx/engine.h"
#include "softgpu/ptx/exec/inst.h"
#include "softgpu/ptx/parse/ast.h"
#include "softgpu/ptx/translate/emitter.h"

namespace sluice::ptx {

// What a kernel needs beyond its own code, found over everything it may call.
struct KernelPlan {
  uint32_t function = 0;
  uint32_t static_shared = 0;
  uint32_t dynamic_align = 16;
  bool calls = false;  // needs stack
  PtxError refusal{CUDA_SUCCESS, 0, {}};
};

class ProgramImpl final : public Program {
 public:
  ProgramImpl(std::string text, const CompileOptions& options);

  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::span<const Variable> variables() const override { return variables_; }
  Status bind(std::span<const uint64_t> addresses) override;
  Status launch(size_t kernel, const LaunchConfig& config,
                const LaunchEnvironment& environment) const override;

  const Code& code(uint32_t function) const { return codes_[function]; }
  bool has_code(uint32_t function) const {
    return function < codes_.size() && !codes_[function].insts.empty();
  }

 private:
  void declare_variables();
  void lay_out();
  void lay_out_shared(const std::vector<std::vector<uint32_t>>& reachable);
  void lay_out_local(uint32_t function);
  void translate(uint32_t function);
  void plan_kernels(const std::vector<std::vector<uint32_t>>& reachable);
  std::vector<uint32_t> referenced_variables(uint32_t function) const;
  std::vector<uint32_t> callees(uint32_t function, bool& indirect) const;

  std::string text_;  // names in module_ point into it
  CompileOptions options_;
  Module module_;
  Layout layout_;
  Constants constants_;
  std::vector<Code> codes_;
  std::vector<uint32_t> live_registers_;
  std::vector<uint32_t> bound_variables_;  // Module variable of each entry of variables_
  std::vector<Variable> variables_;
  std::vector<KernelInfo> kernels_;
  std::vector<KernelPlan> plans_;
  std::vector<char> bound_constants_;
  const char* consts_ = nullptr;     // 64-byte aligned
  std::vector<uint64_t> addresses_;  // per Module variable
};

}  // namespace sluice::ptx
