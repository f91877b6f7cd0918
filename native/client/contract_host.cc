#include "client/contract_host.h"

#include "client/session.h"
#include "client/thread_state.h"
#include "contract/contract.h"
#include "generated/client_calls.h"

namespace sluice::client {
namespace {

int driver_version() {
  int version = 0;
  calls::cuDriverGetVersion(&version);
  return version;
}

int device_count() {
  Session* session = nullptr;
  return connect_session(&session) == CUDA_SUCCESS ? static_cast<int>(session->devices.size()) : 0;
}

// The same numbers that cuDeviceGetUuid and cuDeviceGetAttribute report: the answer is checked against them.
CUresult device_identity(int ordinal, contract::DeviceIdentity* out) {
  Session* session = nullptr;
  if (CUresult error = connect_session(&session)) return error;
  const Device* device = session->device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  out->uuid = device->uuid;
  out->pci_domain = device->attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID];
  out->pci_bus = device->attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID];
  out->pci_device = device->attributes[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID];
  return CUDA_SUCCESS;
}

CUresult primary_context(CUcontext* out, CUdevice ordinal) {
  Session* session = nullptr;
  if (CUresult error = connect_session(&session)) return error;
  const Device* device = session->device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *out = static_cast<CUcontext>(device->primary->handle);
  return CUDA_SUCCESS;
}

CUresult context_device(CUcontext handle, CUdevice* out) {
  Session* session = nullptr;
  if (CUresult error = connect_session(&session)) return error;
  const Context* context = session->contexts.find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = context->device;
  return CUDA_SUCCESS;
}

CUresult context_id(CUcontext handle, unsigned long long* out) { return calls::cuCtxGetId(handle, out); }

CUresult load_module(CUmodule* out, const void* image) { return calls::cuModuleLoadData(out, image); }

}  // namespace

void install_contract() {
  contract::install({driver_version, device_count, device_identity, calls::cuCtxGetCurrent, primary_context,
                     context_device, context_id, calls::cuStreamGetId, load_module});
}

void contract_context_ended(Context* context) {
  contract::context_destroyed(static_cast<CUcontext>(context->handle));
}

}  // namespace sluice::client
