// Matrix products of NVIDIA's cuBLAS and cuBLASLt against products computed here in double precision.
//   gemm <folder with libcublas.so.N and libcublasLt.so.N> [step...]
// Prints a line per step: "ok", or the library's status or the first wrong element. Ends with 0 when every
// step is ok. Without steps all are run, in one process.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "formats.h"
#include "library.h"

using namespace sluice::programs;

namespace {

struct DeviceMatrix {
  CUdeviceptr address{};
  explicit DeviceMatrix(const Matrix& from) {
    CHECK(cu.cuMemAlloc_v2(&address, from.bytes.size()));
    CHECK(cu.cuMemcpyHtoD_v2(address, from.bytes.data(), from.bytes.size()));
  }
  DeviceMatrix(const DeviceMatrix&) = delete;
  DeviceMatrix& operator=(const DeviceMatrix&) = delete;
  ~DeviceMatrix() { cu.cuMemFree_v2(address); }
  void* get() const { return reinterpret_cast<void*>(address); }
};

struct Product {
  Format inputs;
  Format result;
  int m;
  int n;
  int k;
  bool transposed_a = false;
  bool transposed_b = false;
  int count = 1;
  // The format in which the library adds up.
  Format sums = Format::kF32;
  double alpha = 1.25;
  double beta = -0.5;
};

// C = alpha * op(A) * op(B) + beta * C; `call` gets the device addresses. Empty when the result is right.
using Call = std::function<int(const void* a, const void* b, void* c)>;

std::string check_product(const Product& p, const Call& call) {
  Matrix a(p.inputs, p.transposed_a ? p.k : p.m, p.transposed_a ? p.m : p.k, p.count);
  Matrix b(p.inputs, p.transposed_b ? p.n : p.k, p.transposed_b ? p.k : p.n, p.count);
  Matrix c(p.result, p.m, p.n, p.count);
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const DeviceMatrix on_device_a(a);
  const DeviceMatrix on_device_b(b);
  const DeviceMatrix on_device_c(c);
  const int status = call(on_device_a.get(), on_device_b.get(), on_device_c.get());
  if (status != 0) return "status " + std::to_string(status);
  Matrix d = c;
  const CUresult copied = cu.cuMemcpyDtoH_v2(d.bytes.data(), on_device_c.address, d.bytes.size());
  if (copied != CUDA_SUCCESS) return error_name(copied);
  for (int which = 0; which < p.count; which++) {
    for (int column = 0; column < p.n; column++) {
      for (int row = 0; row < p.m; row++) {
        double sum = 0;
        double magnitude = 0;
        for (int i = 0; i < p.k; i++) {
          const double term = (p.transposed_a ? a(i, row, which) : a(row, i, which)) *
                              (p.transposed_b ? b(column, i, which) : b(i, column, which));
          sum += term;
          magnitude += std::abs(term);
        }
        const double expected = p.alpha * sum + p.beta * c(row, column, which);
        // One rounding of the result, and one per term of the sum at most.
        const double allowed =
            unit_roundoff(p.result) * std::abs(expected) +
            (p.k + 4) * unit_roundoff(p.sums) * (std::abs(p.alpha) * magnitude + std::abs(p.beta));
        const double found = d(row, column, which);
        if (!(std::abs(found - expected) <= allowed)) {
          char text[160];
          std::snprintf(text, sizeof text, "element (%d, %d) of %d is %.9g and not %.9g", row, column, which,
                        found, expected);
          return text;
        }
      }
    }
  }
  return {};
}

std::string sgemm(const Cublas& c, Cublas::Handle handle, const Product& p) {
  const auto alpha = static_cast<float>(p.alpha);
  const auto beta = static_cast<float>(p.beta);
  return check_product(p, [&](const void* a, const void* b, void* d) {
    return c.sgemm(handle, p.transposed_a, p.transposed_b, p.m, p.n, p.k, &alpha,
                   static_cast<const float*>(a), p.transposed_a ? p.k : p.m, static_cast<const float*>(b),
                   p.transposed_b ? p.n : p.k, &beta, static_cast<float*>(d), p.m);
  });
}

std::string dgemm(const Cublas& c, Cublas::Handle handle, const Product& p) {
  return check_product(p, [&](const void* a, const void* b, void* d) {
    return c.dgemm(handle, p.transposed_a, p.transposed_b, p.m, p.n, p.k, &p.alpha,
                   static_cast<const double*>(a), p.transposed_a ? p.k : p.m, static_cast<const double*>(b),
                   p.transposed_b ? p.n : p.k, &p.beta, static_cast<double*>(d), p.m);
  });
}

std::string gemm_ex(const Cublas& c, Cublas::Handle handle, const Product& p) {
  const auto alpha = static_cast<float>(p.alpha);
  const auto beta = static_cast<float>(p.beta);
  return check_product(p, [&](const void* a, const void* b, void* d) {
    return c.gemm_ex(handle, p.transposed_a, p.transposed_b, p.m, p.n, p.k, &alpha, a,
                     static_cast<int>(p.inputs), p.transposed_a ? p.k : p.m, b, static_cast<int>(p.inputs),
                     p.transposed_b ? p.n : p.k, &beta, d, static_cast<int>(p.result), p.m, kCompute32F,
                     kDefaultAlgorithm);
  });
}

std::string batched(const Cublas& c, Cublas::Handle handle, const Product& p) {
  const auto alpha = static_cast<float>(p.alpha);
  const auto beta = static_cast<float>(p.beta);
  return check_product(p, [&](const void* a, const void* b, void* d) {
    return c.gemm_strided_batched_ex(handle, 0, 0, p.m, p.n, p.k, &alpha, a, static_cast<int>(p.inputs), p.m,
                                     static_cast<long long>(p.m) * p.k, b, static_cast<int>(p.inputs), p.k,
                                     static_cast<long long>(p.k) * p.n, &beta, d, static_cast<int>(p.result),
                                     p.m, static_cast<long long>(p.m) * p.n, p.count, kCompute32F,
                                     kDefaultAlgorithm);
  });
}

std::string matmul(const Cublas& c, Cublas::Handle, const Product& p) {
  const auto alpha = static_cast<float>(p.alpha);
  const auto beta = static_cast<float>(p.beta);
  void* handle = nullptr;
  void* operation = nullptr;
  void* layout_a = nullptr;
  void* layout_b = nullptr;
  void* layout_c = nullptr;
  int status = c.lt_create(&handle);
  if (status != 0) return "cublasLtCreate: status " + std::to_string(status);
  EXPECT(c.lt_matmul_create(&operation, kCompute32F, static_cast<int>(Format::kF32)) == 0);
  const auto layout = [&](void** out, Format format, int rows, int columns) {
    EXPECT(c.lt_layout_create(out, static_cast<int>(format), static_cast<uint64_t>(rows),
                              static_cast<uint64_t>(columns), rows) == 0);
  };
  layout(&layout_a, p.inputs, p.m, p.k);
  layout(&layout_b, p.inputs, p.k, p.n);
  layout(&layout_c, p.result, p.m, p.n);
  std::string wrong = check_product(p, [&](const void* a, const void* b, void* d) {
    return c.lt_matmul(handle, operation, &alpha, a, layout_a, b, layout_b, &beta, d, layout_c, d, layout_c,
                       nullptr, nullptr, 0, nullptr);
  });
  for (void* made : {layout_a, layout_b, layout_c}) EXPECT(c.lt_layout_destroy(made) == 0);
  EXPECT(c.lt_matmul_destroy(operation) == 0);
  status = c.lt_destroy(handle);
  if (status != 0 && wrong.empty()) wrong = "cublasLtDestroy: status " + std::to_string(status);
  return wrong;
}

struct Step {
  const char* name;
  std::string (*run)(const Cublas&, Cublas::Handle, const Product&);
  Product product;
};

constexpr Format F16 = Format::kF16, BF16 = Format::kBf16, F32 = Format::kF32, F64 = Format::kF64;

const Step kSteps[] = {
    {"sgemm", sgemm, {F32, F32, 96, 80, 64}},
    {"sgemm-tn", sgemm, {F32, F32, 65, 33, 47, true, false}},
    {"sgemm-nt", sgemm, {F32, F32, 31, 129, 64, false, true}},
    {"sgemm-vector", sgemm, {F32, F32, 128, 1, 256}},
    {"dgemm", dgemm, {F64, F64, 64, 48, 40, false, false, 1, F64}},
    {"dgemm-tt", dgemm, {F64, F64, 33, 17, 65, true, true, 1, F64}},
    {"gemmex-f16", gemm_ex, {F16, F16, 64, 64, 64}},
    {"gemmex-f16-tn", gemm_ex, {F16, F16, 72, 40, 104, true, false}},
    {"gemmex-f16-f32", gemm_ex, {F16, F32, 64, 64, 64}},
    {"gemmex-bf16", gemm_ex, {BF16, BF16, 64, 64, 64}},
    {"gemmex-bf16-f32", gemm_ex, {BF16, F32, 80, 48, 96}},
    {"batched-f32", batched, {F32, F32, 32, 24, 40, false, false, 5}},
    {"batched-f16", batched, {F16, F16, 32, 24, 40, false, false, 5}},
    {"batched-bf16", batched, {BF16, BF16, 32, 24, 40, false, false, 5}},
    {"lt-f32", matmul, {F32, F32, 64, 64, 64}},
    {"lt-f16", matmul, {F16, F16, 64, 64, 64}},
    {"lt-bf16", matmul, {BF16, BF16, 64, 64, 64}},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gemm <folder of the libraries> [step...]\n");
    return 2;
  }
  const std::vector<std::string> wanted(argv + 2, argv + argc);
  open_device();
  const Cublas c = load_cublas(argv[1]);
  Cublas::Handle handle = nullptr;
  const int status = c.create(&handle);
  say("cublasCreate: %s", status == 0 ? "ok" : ("status " + std::to_string(status)).c_str());
  if (status != 0) return 1;
  bool all = true;
  for (const Step& step : kSteps) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), step.name) == wanted.end()) continue;
    const std::string wrong = step.run(c, handle, step.product);
    say("%s: %s", step.name, wrong.empty() ? "ok" : wrong.c_str());
    std::fflush(stdout);
    all = all && wrong.empty();
  }
  EXPECT(c.destroy(handle) == 0);
  return all ? 0 : 1;
}
