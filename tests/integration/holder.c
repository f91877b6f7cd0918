// A CUDA program for tests: takes device memory, says so, and uses it until it is ended or a call fails.
// It is linked to no CUDA library; like many programs it looks the driver up when it starts.
//   holder MIB [quit]      quit: end by itself after the first use
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int (*Call)();

static Call find(void *driver, const char *name) {
  Call call = (Call)dlsym(driver, name);
  if (call == NULL) {
    fprintf(stderr, "holder: no %s\n", name);
    exit(90);
  }
  return call;
}

static void check(const char *what, int status) {
  if (status == 0) return;
  printf("%s failed: %d\n", what, status);
  fflush(stdout);
  exit(status == 2 ? 2 : 3); // 2: out of memory
}

int main(int count, char **words) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "holder: %s\n", dlerror());
    return 91;
  }
  size_t bytes = (size_t)atoi(count > 1 ? words[1] : "64") << 20;
  int quit = count > 2 && strcmp(words[2], "quit") == 0;
  int device = 0;
  void *context = NULL;
  unsigned long long memory = 0;
  check("cuInit", find(driver, "cuInit")(0));
  check("cuDeviceGet", find(driver, "cuDeviceGet")(&device, 0));
  check("cuCtxCreate", find(driver, "cuCtxCreate_v2")(&context, 0, device));
  check("cuMemAlloc", find(driver, "cuMemAlloc_v2")(&memory, bytes));
  Call set = find(driver, "cuMemsetD8_v2");
  Call synchronize = find(driver, "cuCtxSynchronize");
  check("cuMemsetD8", set(memory, (unsigned char)7, bytes));
  check("cuCtxSynchronize", synchronize());
  printf("holding %zu MiB\n", bytes >> 20);
  fflush(stdout);
  while (!quit) {
    struct timespec pause = {0, 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    check("cuMemsetD8", set(memory, (unsigned char)1, (size_t)4096));
    check("cuCtxSynchronize", synchronize());
  }
  return 0;
}
