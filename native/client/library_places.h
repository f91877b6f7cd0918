// A library belongs to no context, and a program may use its kernels on GPUs of several servers: each server
// gets the image when it is first needed there.
#pragma once

#include "client/objects.h"

namespace sluice::client {

struct Session;

// Remembers the image at `code`, which may go when the call that loads it returns.
void keep_source(Library& library, const void* code, unsigned option_count, const CUjit_option* names,
                 void* const* values);

// Loads the library on the server of `channel` unless it is there, with the kernels that the program has
// asked for so far. The errors are those of loading it.
CUresult ensure_library(Session& session, Library& library, Channel* channel);

}  // namespace sluice::client
