// The driver itself: start, version, symbols, error texts, profiler.
#include <algorithm>
#include <cstring>

#include "client/error_names.h"
#include "client/scope.h"
#include "contract/contract.h"
#include "generated/client_calls.h"
#include "generated/proc_table.h"

namespace sluice::client::calls {
namespace {

// Reported while there is no worker to ask: the newest interface that the spec describes in full.
constexpr int kOwnVersion = 13000;

}  // namespace

CUresult cuInit(unsigned int flags) { return flags == 0 ? initialize() : CUDA_ERROR_INVALID_VALUE; }

CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Session* session = nullptr;
  // Never fails for lack of a pool: programs ask for the version before they ask for devices.
  const bool connected = connect_session(&session) == CUDA_SUCCESS;
  *driverVersion =
      connected && session->driver_version > 0 ? std::min(session->driver_version, kOwnVersion) : kOwnVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, unsigned long long flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  CUdriverProcAddressQueryResult ignored;
  CUdriverProcAddressQueryResult* status = symbolStatus ? symbolStatus : &ignored;
  *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (symbol == nullptr || pfn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pfn = nullptr;
  constexpr unsigned long long kEither =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~kEither) != 0 || flags == kEither) return CUDA_ERROR_INVALID_VALUE;
  int driver_version = 0;
  cuDriverGetVersion(&driver_version);

  const auto table = proc_table();
  auto at = std::lower_bound(
      table.begin(), table.end(), symbol,
      [](const ProcEntry& entry, const char* name) { return std::strcmp(entry.base, name) < 0; });
  const ProcEntry* best = nullptr;
  bool known = false;
  for (; at != table.end() && std::strcmp(at->base, symbol) == 0; ++at) {
    // What is newer than the driver of the worker is not there.
    if (at->version > driver_version) continue;
    known = true;
    if (at->version <= cudaVersion) best = &*at;
  }
  // A function that is not there is no error of the call: the status and the null pointer say it.
  if (best == nullptr) {
    if (known) *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    return CUDA_SUCCESS;
  }
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *pfn = per_thread && best->per_thread ? best->per_thread : best->function;
  *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, unsigned long long flags) {
  CUdriverProcAddressQueryResult status{};
  if (CUresult error = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, &status)) return error;
  return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* text = error_text(error);
  *pStr = text ? text->sentence : nullptr;
  return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* text = error_text(error);
  *pStr = text ? text->name : nullptr;
  return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Session* session = nullptr;
  connect_session(&session);  // the tables speak of devices; without any they still answer
  return contract::export_table(ppExportTable, pExportTableId);
}

// No profiler can attach to a GPU of another machine, so switching it on and off changes nothing.
CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace sluice::client::calls
