// Which of the compiled instruction-set levels this machine runs.
#include <cstdlib>
#include <string_view>

#include "softgpu/ptx/levels.h"  // generated: SLUICE_PTX_LEVELS
#include "softgpu/ptx/translate/emitter.h"

namespace sluice::ptx {

#define SLUICE_PTX_DECLARE(level) \
  namespace level {               \
  const Isa& isa();               \
  }
SLUICE_PTX_LEVELS(SLUICE_PTX_DECLARE)

namespace {

[[maybe_unused]] bool runs(std::string_view level) {
  __builtin_cpu_init();
  if (level == "v4") return __builtin_cpu_supports("x86-64-v4") != 0;
  if (level == "v3") return __builtin_cpu_supports("x86-64-v3") != 0;
  return true;
}

const Isa& choose() {
  const Isa* best = nullptr;
#define SLUICE_PTX_TRY(level) \
  if (runs(#level)) best = &level::isa();
  SLUICE_PTX_LEVELS(SLUICE_PTX_TRY)
  return *best;
}

}  // namespace

const Isa& best_isa() {
  static const Isa& isa = choose();
  return isa;
}

}  // namespace sluice::ptx
