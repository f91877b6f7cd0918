// Functions that every device program may call without defining them.
#pragma once

#include <cstdint>
#include <string_view>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {

enum class DeviceFunction : uint8_t { kUnknown, kPrintf, kAssertFail, kMalloc, kFree };
constexpr uint32_t kMaxDeviceArguments = 5;

DeviceFunction device_function(std::string_view name);

// Runs it for one lane. False after a fault.
bool run_device_function(DeviceFunction which, Warp& warp, const Inst* in, uint32_t lane,
                         const uint64_t* arguments, uint64_t& result);

}  // namespace sluice::ptx
