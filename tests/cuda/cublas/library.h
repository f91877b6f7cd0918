// The functions of cuBLAS and cuBLASLt that the programs here call, found in whichever version they are told
// to load. Names and argument lists are those that NVIDIA documents; they have been the same since CUDA 11.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "../driver/check.h"

namespace sluice::programs {

constexpr int kCompute16F = 64;
constexpr int kCompute32F = 68;
constexpr int kCompute64F = 70;
constexpr int kDefaultAlgorithm = -1;

struct Cublas {
  using Handle = void*;
  int (*create)(Handle*);
  int (*destroy)(Handle);
  int (*set_stream)(Handle, CUstream);
  int (*sgemm)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int,
               const float*, float*, int);
  int (*dgemm)(Handle, int, int, int, int, int, const double*, const double*, int, const double*, int,
               const double*, double*, int);
  int (*gemm_ex)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                 const void*, void*, int, int, int, int);
  int (*gemm_strided_batched_ex)(Handle, int, int, int, int, int, const void*, const void*, int, int,
                                 long long, const void*, int, int, long long, const void*, void*, int, int,
                                 long long, int, int, int);
  int (*get_version)(Handle, int*);

  int (*lt_create)(void**);
  int (*lt_destroy)(void*);
  int (*lt_matmul_create)(void**, int, int);
  int (*lt_matmul_destroy)(void*);
  int (*lt_layout_create)(void**, int, uint64_t, uint64_t, int64_t);
  int (*lt_layout_destroy)(void*);
  int (*lt_matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const void*, void*, size_t, CUstream);
};

// The library file of that stem in `folder`, whatever its version.
inline std::string library_file(const std::string& folder, const std::string& stem) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.rfind(stem + ".so.", 0) == 0) return entry.path();
  }
  fail(__FILE__, __LINE__, "no " + stem + " in " + folder);
}

inline void* open_library(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(__FILE__, __LINE__, dlerror());
  return library;
}

template <typename Function>
void find(void* library, const char* name, Function* out) {
  void* const found = dlsym(library, name);
  if (found == nullptr) fail(__FILE__, __LINE__, std::string("the library does not export ") + name);
  *out = reinterpret_cast<Function>(found);
}

// cuBLASLt is opened first: cuBLAS needs it by its name.
inline Cublas load_cublas(const std::string& folder) {
  Cublas c{};
  void* const lt = open_library(library_file(folder, "libcublasLt"));
  void* const blas = open_library(library_file(folder, "libcublas"));
  find(blas, "cublasCreate_v2", &c.create);
  find(blas, "cublasDestroy_v2", &c.destroy);
  find(blas, "cublasSetStream_v2", &c.set_stream);
  find(blas, "cublasSgemm_v2", &c.sgemm);
  find(blas, "cublasDgemm_v2", &c.dgemm);
  find(blas, "cublasGemmEx", &c.gemm_ex);
  find(blas, "cublasGemmStridedBatchedEx", &c.gemm_strided_batched_ex);
  find(blas, "cublasGetVersion_v2", &c.get_version);
  find(lt, "cublasLtCreate", &c.lt_create);
  find(lt, "cublasLtDestroy", &c.lt_destroy);
  find(lt, "cublasLtMatmulDescCreate", &c.lt_matmul_create);
  find(lt, "cublasLtMatmulDescDestroy", &c.lt_matmul_destroy);
  find(lt, "cublasLtMatrixLayoutCreate", &c.lt_layout_create);
  find(lt, "cublasLtMatrixLayoutDestroy", &c.lt_layout_destroy);
  find(lt, "cublasLtMatmul", &c.lt_matmul);
  return c;
}

}  // namespace sluice::programs
