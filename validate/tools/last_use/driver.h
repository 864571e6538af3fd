// Calls of the CUDA driver that must not fail.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* message = nullptr;
  cuGetErrorString(result, &message);
  std::fprintf(stderr, "%s: %s\n", what, message);
  std::exit(3);
}
