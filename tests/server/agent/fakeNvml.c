// A libnvidia-ml.so.1 with two GPUs for tests, written from NVML's ABI. Variants by macro:
// OLD lacks the second version of the memory call, HANG never returns from the temperature call, CRASH dies in it.
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, INSUFFICIENT = 7, LOST = 15 };
#define EXPORT __attribute__((visibility("default")))
static const uint64_t GIB = 1024ull * 1024 * 1024;
static int handles[2];
static int index_of(void *device) { return (int)((int *)device - handles); }

EXPORT int nvmlInit_v2(void) { return SUCCESS; }
EXPORT int nvmlDeviceGetCount_v2(uint32_t *count) { *count = 2; return SUCCESS; }
EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **device) {
  if (index > 1) return INVALID;
  *device = &handles[index];
  return SUCCESS;
}
EXPORT int nvmlDeviceGetUUID(void *device, char *text, uint32_t size) {
  strncpy(text, index_of(device) ? "GPU-bbbb" : "GPU-aaaa", size);
  return SUCCESS;
}
EXPORT int nvmlDeviceGetName(void *device, char *text, uint32_t size) {
  (void)device;
  strncpy(text, "Test GPU", size);
  return SUCCESS;
}
EXPORT int nvmlSystemGetDriverVersion(char *text, uint32_t size) { strncpy(text, "590.48.01", size); return SUCCESS; }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13010; return SUCCESS; }
EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
  (void)device;
  *major = 9;
  *minor = 0;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, unsigned char *pci) {
  memset(pci, 0, 68);
  strcpy((char *)pci + 36, index_of(device) ? "00000000:84:00.0" : "00000000:83:00.0");
  return SUCCESS;
}
#ifndef OLD
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, unsigned char *memory) {
  uint32_t version;
  memcpy(&version, memory, 4);
  if (version != (40u | 2u << 24)) return INVALID;
  if (index_of(device)) return LOST;
  uint64_t figures[4] = {80 * GIB, GIB / 2, 70 * GIB, 9 * GIB + GIB / 2};
  memcpy(memory + 8, figures, sizeof figures);
  return SUCCESS;
}
#endif
EXPORT int nvmlDeviceGetMemoryInfo(void *device, uint64_t *memory) {
  if (index_of(device)) return LOST;
  memory[0] = 80 * GIB;
  memory[1] = 70 * GIB;
  memory[2] = 10 * GIB;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetUtilizationRates(void *device, uint32_t *rates) {
  rates[0] = index_of(device) ? 808334905 : 42;
  rates[1] = 7;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetPowerUsage(void *device, uint32_t *milliwatts) {
  if (index_of(device)) return NOT_SUPPORTED;
  *milliwatts = 77123;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, uint32_t *celsius) {
  (void)device;
#ifdef HANG
  for (;;) pause();
#endif
#ifdef CRASH
  raise(SIGSEGV);
#endif
  if (sensor != 0) return INVALID;
  *celsius = 28;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, uint32_t *count, unsigned char *infos) {
  // More than fit in the first answer's space.
  uint32_t total = index_of(device) ? 0 : 100;
  if (*count < total) { *count = total; return INSUFFICIENT; }
  *count = total;
  for (uint32_t i = 0; i < total; i++) {
    uint32_t pid = 4000000 + i;
    uint64_t used = i == 1 ? UINT64_MAX : 100ull * 1024 * 1024;
    memcpy(infos + i * 24, &pid, 4);
    memcpy(infos + i * 24 + 8, &used, 8);
  }
  return SUCCESS;
}
