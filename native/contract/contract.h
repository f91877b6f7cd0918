// The undocumented part of the interface between NVIDIA's runtime libraries and
// a CUDA driver: private export tables, the integrity answer, context-local
// storage. Shared by the client library and the software GPU, which each give it
// a Host. Everything here is answered in the process; nothing goes over a wire.
//
// Meanings of tables and slots, and the integrity key, were published by ZLUDA
// (https://github.com/vosen/ZLUDA, MIT or Apache-2.0).
#pragma once

#include "common/cuda_types.h"

namespace sluice::contract {

struct DeviceIdentity {
  CUuuid uuid;
  int pci_domain;
  int pci_bus;
  int pci_device;
};

// What the tables need of the driver around them. All members must be set.
struct Host {
  int (*driver_version)();
  int (*device_count)();
  CUresult (*device_identity)(int ordinal, DeviceIdentity* out);
  CUresult (*current_context)(CUcontext* out);
  // The device's primary context handle without making it active.
  CUresult (*primary_context)(CUcontext* out, CUdevice device);
  CUresult (*context_device)(CUcontext context, CUdevice* out);
  // A number unique to the context for the life of the process (as cuCtxGetId).
  CUresult (*context_id)(CUcontext context, unsigned long long* out);
  // A number unique to the stream (as cuStreamGetId). Never called with the null stream.
  CUresult (*stream_id)(CUstream stream, unsigned long long* out);
  // Loads the image that a fatbin wrapper, container, ELF or PTX text at `image` holds.
  CUresult (*load_module)(CUmodule* out, const void* image);
};

// Call once before anything else; later calls with another host are ignored.
void install(const Host& host);

// cuGetExportTable. Unknown tables: *table = nullptr and CUDA_ERROR_NOT_FOUND.
CUresult export_table(const void** table, const CUuuid* id);

// The driver calls these when a context's state goes away: runs the destructors of its
// context-local storage. context_destroyed also forgets the key space.
void context_destroyed(CUcontext context);

}  // namespace sluice::contract
