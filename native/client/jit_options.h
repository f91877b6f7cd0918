// Options of the just-in-time compiler and linker: those that change the code are sent, those that name
// places for outputs are kept here.
#pragma once

#include <cstddef>
#include <string>

#include "common/cuda_types.h"
#include "wire/codec.h"

namespace sluice::client {

// Options as programs give them: a value, or an address that a value or a text is written to.
struct JitOptions {
  unsigned count = 0;
  CUjit_option* names = nullptr;
  void** values = nullptr;
};

// Where the outputs of the options go.
struct JitOutputs {
  char* info = nullptr;
  char* error = nullptr;
  size_t info_bytes = 0;
  size_t error_bytes = 0;
  void** info_size = nullptr;
  void** error_size = nullptr;
  float* wall_time = nullptr;
};

// Appends sizes of logs and the options that are sent. False for options that name addresses in ways that are
// not carried.
bool put_options(const JitOptions& options, wire::Writer& arguments, JitOutputs* outputs);

// Writes as much of the text as there is room for, and its length.
void write_log(const std::string& text, char* into, size_t capacity, void** size);

}  // namespace sluice::client
