// Kernels with known counts, for counter_check. Each runs check_blocks blocks of check_threads threads.
#pragma once

#include <cstddef>

namespace tilescope::validate {

inline constexpr unsigned check_blocks = 1056, check_threads = 256, check_warps = check_blocks * check_threads / 32;

void run_copy(const void* from, void* to, std::size_t bytes);  // reads and writes `bytes` bytes, a multiple of 16
void run_write(void* to, std::size_t bytes);                   // writes `bytes` bytes

// from: 512 readable bytes. out: check_blocks * check_threads values. Per warp and round: two ldmatrix.x4 (512 B each;
// one transposed), one ldmatrix.x2 (256 B), two mma m16n8k16, one 16-byte cp.async, a 16-byte and a 4-byte shared load
// and store a thread. Each block also fills 8 KiB of shared memory with 4-byte stores.
void run_instructions(const void* from, float* out, int rounds);

// Per thread and round: one exp2, one FFMA, one FADD, one FMUL; afterwards two FADD.
void run_math(float* out, int rounds);

}  // namespace tilescope::validate
