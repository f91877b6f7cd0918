// What C++ on a device asks of an engine: virtual calls, recursion, tables of functions, local arrays,
// device heap, printf, 64-bit division.
#include <cstdio>

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};

extern "C" __global__ void virtual_calls(float* out) {
  const int i = threadIdx.x;
  Shape* const shape = i % 2 == 0 ? static_cast<Shape*>(new Square(i)) : static_cast<Shape*>(new Circle(i));
  out[i] = shape->area();
  delete shape;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(unsigned* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x / 3); }

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[] = {plus, minus, times};

extern "C" __global__ void function_table(int* out) {
  const int i = threadIdx.x;
  out[i] = operations[i % 3](i, 7);
}

extern "C" __global__ void local_array(const int* in, int* out, int n) {
  int counts[16] = {};
  for (int i = 0; i < n; ++i) ++counts[(in[i] + threadIdx.x) & 15];
  int best = 0;
  for (int i = 1; i < 16; ++i) {
    if (counts[i] > counts[best]) best = i;
  }
  out[threadIdx.x] = best;
}

extern "C" __global__ void say(int n) {
  if (threadIdx.x == 0) printf("%s has %d of %5.2f, %c and %llx\n", "block", n, 2.5, 'x', 0x123456789abcULL);
}

extern "C" __global__ void long_division(const long long* a, const long long* b, long long* out) {
  const int i = threadIdx.x;
  out[2 * i] = a[i] / b[i];
  out[2 * i + 1] = a[i] % b[i];
}

extern "C" __global__ void classify(const int* in, int* out) {
  const int i = threadIdx.x;
  int result;
  switch (in[i]) {
    case 0: result = 100; break;
    case 1: result = in[i] * 17 + i; break;
    case 2: result = -in[i];
    case 3: result = i * i; break;
    case 4: result = __popc(i); break;
    case 5: result = __clz(i + 1); break;
    case 6: result = i ^ 0x55; break;
    case 9: result = 9; break;
    default: result = -1;
  }
  out[i] = result;
}
