// CUDA_VISIBLE_DEVICES: which of the granted GPUs a program sees, and in which order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::client {

// The places in `uuids` ("GPU-…", in the order of the grant) that the variable's text chooses, in its order.
// Not set: all. Entries are indices, or UUIDs or beginnings of UUIDs that fit one GPU only. As with NVIDIA's
// driver the first entry that is none of these ends the list, so that an empty text or "-1" hides all GPUs;
// an entry that names a GPU again ends it as well. Source: CUDA C++ Programming Guide, "CUDA Environment
// Variables".
std::vector<size_t> visible_devices(const std::optional<std::string>& text,
                                    const std::vector<std::string>& uuids);

}  // namespace sluice::client
