// Names of errors and what they mean, for cuGetErrorName and cuGetErrorString.
#pragma once

#include "common/cuda_types.h"

namespace sluice::client {

struct ErrorText {
  CUresult error;
  const char* name;
  const char* sentence;
};

// Null for a number that is no error code.
const ErrorText* error_text(CUresult error);

}  // namespace sluice::client
