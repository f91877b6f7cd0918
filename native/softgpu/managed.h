// What was said about managed memory.
#pragma once

#include "common/managed_advice.h"

namespace sluice::softgpu {

ManagedAdvice& managed_advice();

}  // namespace sluice::softgpu
