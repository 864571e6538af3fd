// A thread's local memory, swept place by place.
#pragma once

constexpr int places = 16, in_flight = 8, wide = 8;  // bytes of an access

__device__ __forceinline__ float load(unsigned at) {
  float x, y;
  asm volatile("ld.local.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(at) : "memory");
  return x + y;
}
__device__ __forceinline__ void store(unsigned at, float x) {
  asm volatile("st.local.v2.f32 [%0], {%1, %1};" ::"r"(at), "f"(x) : "memory");
}

// used: bytes of the frame that are swept; those of a place are a multiple of in_flight * wide.
template <int bytes>
struct Frame {
  float own[bytes / 4];
  unsigned base;

  __device__ __forceinline__ Frame() {
    own[0] = own[bytes / 4 - 1] = 0;
    unsigned long long address;
    asm volatile("cvta.to.local.u64 %0, %1;" : "=l"(address) : "l"(own));
    base = static_cast<unsigned>(address);
  }
  __device__ __forceinline__ void store_place(int used, int place, float x) {
    const unsigned to = base + place * (used / places);
#pragma unroll 1
    for (int i = 0; i < used / places; i += in_flight * wide)
#pragma unroll
      for (int j = 0; j < in_flight; ++j) store(to + i + j * wide, x);
  }
  __device__ __forceinline__ float load_place(int used, int place) {
    const unsigned from = base + place * (used / places);
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < used / places; i += in_flight * wide) {
      float v[in_flight];
#pragma unroll
      for (int j = 0; j < in_flight; ++j) v[j] = load(from + i + j * wide);
#pragma unroll
      for (int j = 0; j < in_flight; ++j) sum += v[j];
    }
    return sum;
  }
  __device__ __forceinline__ float any(int i) const { return own[i % 2]; }
};
