import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';
import { parameterList } from './declarations.js';

/** Pointers to the functions of a driver that the worker loads. */
export function driverTable(spec: readonly Row[]): GeneratedFile[] {
  const needed = spec.filter((row) => row.callClass !== 'unsupported' && row.as === null);
  const header = `#pragma once

#include <string>

#include "common/cuda_resource_types.h"
#include "common/cuda_types.h"

namespace sluice::generated {

// The driver that a worker calls. A function that the driver does not export is null.
struct DriverTable {
  void* library = nullptr;
${needed.map((row) => `  CUresult (*${row.symbol})(${parameterList(row.parameters)}) = nullptr;`).join('\n')}
};

// Loads the library at \`path\` and fills the table. False with a sentence in *error when the
// library cannot be loaded or lacks a function without which no program can run.
bool load_driver(const char* path, DriverTable* table, std::string* error);

}  // namespace sluice::generated
`;
  const source = `#include "generated/driver_table.h"

#include <dlfcn.h>

namespace sluice::generated {
namespace {

template <typename Function>
void find(void* library, const char* symbol, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(library, symbol));
}

}  // namespace

bool load_driver(const char* path, DriverTable* table, std::string* error) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    *error = std::string("The driver library ") + path + " cannot be loaded: " + (reason ? reason : "unknown reason") + ".";
    return false;
  }
  table->library = library;
${needed.map((row) => `  find(library, "${row.symbol}", &table->${row.symbol});`).join('\n')}
  if (table->cuInit == nullptr || table->cuDeviceGet == nullptr || table->cuCtxSetCurrent == nullptr ||
      table->cuLaunchKernel == nullptr || table->cuMemAlloc_v2 == nullptr) {
    *error = std::string("The library ") + path + " is not a CUDA driver: it lacks cuInit, cuLaunchKernel or another basic function.";
    return false;
  }
  return true;
}

}  // namespace sluice::generated
`;
  return [
    { path: 'native/generated/driver_table.h', text: header },
    { path: 'native/generated/driver_table.cc', text: source },
  ];
}
