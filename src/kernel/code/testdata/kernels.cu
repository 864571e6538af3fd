// Source of kernels.cubin (nvcc -arch=sm_90a -cubin) and kernels.fatbin (nvcc --compress-mode=size -fatbin for sm_90a
// and sm_100a), CUDA 13.0. The tests hold what `nvcc -Xptxas -v` printed for each kernel.
struct Mixed {
  float a;
  double b;
  const float* p;
};

extern "C" __global__ void __launch_bounds__(256, 2) staged(const float* x, float* y, int n, Mixed q) {
  __shared__ float s[1024];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[blockIdx.x] = s[n] + q.a;
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) clustered(float* y) {
  __shared__ float s[7];
  s[threadIdx.x] = y[0];
  asm volatile("barrier.sync 3, 64;");
  y[1] = s[2];
}

__device__ __noinline__ float called(float x) { return x * x + 1; }

extern "C" __global__ void indexed(float* y) {
  float a[400];
  for (int i = 0; i < 400; ++i) a[i] = y[i];
  y[0] = called(a[static_cast<int>(y[500])]);
  y[3] = a[static_cast<int>(y[501])];
}
