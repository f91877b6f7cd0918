// Sending images to the worker and reading the tables of kernels that come back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/image.h"
#include "client/jit_options.h"
#include "client/objects.h"
#include "client/scope.h"
#include "generated/call_ids.h"

namespace sluice::client {

// Loads the image at `pointer` as module or library `index`; `call` says which. One round trip for an
// image that is small or that the worker knows, two otherwise.
CUresult load_image(Scope& scope, generated::CallId call, uint32_t index, const void* pointer,
                    const JitOptions& options, std::shared_ptr<Image>* image);

// A function or kernel that the program sees, for the kernel `info` of `image`.
Function* mint_function(Session& session, std::shared_ptr<Image> image, const KernelInfo* info);

// Reads a file for the forms that take a name, ending with a zero byte; empty when it cannot be read.
std::vector<char> read_image_file(const char* path);

}  // namespace sluice::client
