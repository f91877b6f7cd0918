// Context-local storage: one value per (context, key), as runtime libraries keep their per-context state.
#pragma once

#include "common/cuda_types.h"

namespace sluice::contract {

using StorageDestructor = void (*)(CUcontext context, void* key, void* value);

// Stores or replaces. A replaced value's destructor is not run: its owner replaced it.
void storage_put(CUcontext context, void* key, void* value, StorageDestructor destructor);
// False when there is no value.
bool storage_get(CUcontext context, void* key, void** value);
// Forgets the value without running its destructor; false when there is none.
bool storage_remove(CUcontext context, void* key);
// Forgets every value of the context and then runs the destructors, without a lock held.
void storage_clear(CUcontext context);

}  // namespace sluice::contract
