// The math library of CUDA, which is PTX by the time it reaches an engine.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void singles(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  const float v = in[i];
  const float results[] = {sinf(v), cosf(v), tanf(v), expf(v), logf(fabsf(v)), powf(fabsf(v), 1.7f), sqrtf(fabsf(v)),
                           atan2f(v, 2.0f), erff(v), tanhf(v), cbrtf(v), fmodf(v, 0.7f), log1pf(fabsf(v)), v / 3.7f,
                           lgammaf(fabsf(v) + 1.0f), rintf(v)};
  for (int k = 0; k < 16; ++k) out[k * n + i] = results[k];
}

extern "C" __global__ void doubles(const double* in, double* out, int n) {
  const int i = threadIdx.x;
  const double v = in[i];
  const double results[] = {sin(v), cos(v), tan(v), exp(v), log(fabs(v)), pow(fabs(v), 1.7), sqrt(fabs(v)),
                            atan2(v, 2.0), erf(v), tanh(v), cbrt(v), fmod(v, 0.7), log1p(fabs(v)), v / 3.7,
                            lgamma(fabs(v) + 1.0), rint(v)};
  for (int k = 0; k < 16; ++k) out[k * n + i] = results[k];
}

extern "C" __global__ void halves(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  const __half h = __float2half(in[i]);
  const __nv_bfloat16 b = __float2bfloat16(in[i]);
  const __half2 pair = __hfma2(__half2half2(h), __floats2half2_rn(2.0f, -1.0f), __float2half2_rn(0.5f));
  out[i] = __half2float(h * h + __float2half(1.0f));
  out[n + i] = __low2float(pair);
  out[2 * n + i] = __high2float(pair);
  out[3 * n + i] = __bfloat162float(b * b + __float2bfloat16(1.0f));
  out[4 * n + i] = h > __float2half(0.5f) ? 1.0f : 0.0f;
  out[5 * n + i] = static_cast<float>(__half(__nv_cvt_fp8_to_halfraw(__nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3), __NV_E4M3)));
}
