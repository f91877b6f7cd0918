// Lets the front end of nvcc 13.0 generate code against the headers of CUDA
// 12.4. The only thing that differs between the two is the launch macro in the
// generated stub: 13.0's front end passes one argument more (whether the kernel
// is a tile kernel, which none is here). The header is included twice in each
// compilation, so there is no guard.
#include_next <crt/host_runtime.h>

#ifdef __cudaLaunch
#undef __cudaLaunch
#define __cudaLaunch(stub, tile_kernel)                                                                         \
  {                                                                                                             \
    static cudaKernel_t sluice_kernel = nullptr;                                                                \
    volatile static bool sluice_found __NV_ATTR_UNUSED_FOR_LAUNCH =                                             \
        __cudaGetKernel(&sluice_kernel, (const void*)(stub)) == cudaSuccess;                                    \
    dim3 sluice_grid, sluice_block;                                                                             \
    size_t sluice_shared;                                                                                       \
    cudaStream_t sluice_stream;                                                                                 \
    (void)__args_idx;                                                                                           \
    if (__cudaPopCallConfiguration(&sluice_grid, &sluice_block, &sluice_shared, &sluice_stream) != cudaSuccess) \
      return;                                                                                                   \
    (void)__cudaLaunchKernel_helper(sluice_kernel, sluice_grid, sluice_block, &__args_arr[0], sluice_shared,    \
                                    sluice_stream);                                                             \
  }
#endif
