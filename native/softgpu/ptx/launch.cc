// bind() and launch().
#include "softgpu/ptx/exec/launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "softgpu/ptx/program.h"

namespace sluice::ptx {
namespace {

std::atomic<uint64_t> next_grid_id{1};

uint64_t function_address(uint32_t index) { return kFunctionWindow + 16 * (uint64_t{index} + 1); }

}  // namespace

Status ProgramImpl::bind(std::span<const uint64_t> addresses) {
  if (addresses.size() != variables_.size())
    return {CUDA_ERROR_INVALID_VALUE, "an address per variable is needed"};
  addresses_.assign(module_.variables.size(), 0);
  for (size_t i = 0; i < addresses.size(); ++i) addresses_[bound_variables_[i]] = addresses[i];
  for (size_t i = 0; i < addresses.size(); ++i) {
    const VariableDecl& decl = module_.variables[bound_variables_[i]];
    if (decl.is_extern || decl.bytes == 0) continue;
    auto* const memory = reinterpret_cast<char*>(addresses[i]);
    std::memset(memory, 0, decl.bytes);
    if (!decl.init.empty())
      std::memcpy(memory, decl.init.data(), std::min<uint64_t>(decl.init.size(), decl.bytes));
    for (const AddressInit& init : decl.addresses) {
      uint64_t value = init.function != kNone ? function_address(init.function) : addresses_[init.symbol];
      // The address of a shared variable is its place in shared memory.
      if (init.symbol != kNone && module_.variables[init.symbol].space == StateSpace::kShared) {
        value = layout_.offset[init.symbol];
      }
      value = (value + static_cast<uint64_t>(init.addend)) >> init.shift;
      if (init.offset + init.bytes <= decl.bytes)
        std::memcpy(memory + init.offset, &value, std::min(init.bytes, 8u));
    }
  }
  bound_constants_.assign(constants_.bytes.size() + 64, 0);
  auto* const base =
      reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(bound_constants_.data()) + 63) & ~uintptr_t{63});
  std::copy(constants_.bytes.begin(), constants_.bytes.end(), base);
  for (const Constants::Address& address : constants_.addresses) {
    const uint64_t value = addresses_[address.variable] + address.addend;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      std::memcpy(base + address.offset + size_t{lane} * 8, &value, 8);
    }
  }
  consts_ = base;
  return {};
}

Status ProgramImpl::launch(size_t kernel, const LaunchConfig& config,
                           const LaunchEnvironment& environment) const {
  if (kernel >= kernels_.size() || consts_ == nullptr)
    return {CUDA_ERROR_INVALID_VALUE, "there is no such kernel"};
  const KernelInfo& info = kernels_[kernel];
  const KernelPlan& plan = plans_[kernel];
  if (plan.refusal.code != CUDA_SUCCESS) {
    return {plan.refusal.code, "kernel " + info.name + " is refused: PTX line " +
                                   std::to_string(plan.refusal.line) + ": " + plan.refusal.message};
  }
  const uint64_t threads = uint64_t{config.block.x} * config.block.y * config.block.z;
  const bool empty = config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0 || threads == 0;
  if (empty || threads > info.max_threads)
    return {CUDA_ERROR_INVALID_VALUE, "the launch of " + info.name + " has a bad size"};
  if (config.params.size() < info.param_bytes) {
    return {CUDA_ERROR_INVALID_VALUE, "the launch of " + info.name + " has too few parameters"};
  }
  Launch launch;
  launch.program = this;
  launch.kernel = &codes_[plan.function];
  launch.environment = &environment;
  launch.consts = consts_;
  launch.grid = config.grid;
  launch.block = config.block;
  launch.cluster = {std::max(config.cluster.x, 1u), std::max(config.cluster.y, 1u),
                    std::max(config.cluster.z, 1u)};
  launch.block_threads = static_cast<uint32_t>(threads);
  launch.warps = (launch.block_threads + kLanes - 1) / kLanes;
  launch.blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  launch.static_shared = plan.static_shared;
  launch.dynamic_offset =
      (plan.static_shared + plan.dynamic_align - 1) / plan.dynamic_align * plan.dynamic_align;
  launch.dynamic_shared = config.dynamic_shared_bytes;
  launch.shared_bytes = config.dynamic_shared_bytes != 0 ? launch.dynamic_offset + config.dynamic_shared_bytes
                                                         : plan.static_shared;
  // Frames of called functions come above the kernel's own variables. Ours also hold parameters and
  // results, which the limit does not mean: they get as much again.
  const uint64_t stack = plan.calls ? 2 * environment.stack_bytes : 0;
  launch.local_bytes =
      static_cast<uint32_t>(std::min<uint64_t>((launch.kernel->local_bytes + stack + 15) & ~15u, 1u << 24));
  launch.cooperative = config.cooperative;
  launch.params = reinterpret_cast<const char*>(config.params.data());
  launch.param_bytes = info.param_bytes;
  launch.grid_id = next_grid_id.fetch_add(1, std::memory_order_relaxed);
  Fault fault = run_launch(launch);
  return {fault.code, std::move(fault.message)};
}

}  // namespace sluice::ptx
