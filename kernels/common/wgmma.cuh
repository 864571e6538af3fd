// Warpgroup matrix products of sm_90a: D (64 x n, fp32, in registers) += A (64 x k) * B (k x n), asynchronous.
//
// Fragments. Thread t of a warpgroup holds rows g = 16 (t / 32) + t % 32 / 4 and g + 8 of D: d[4 j + 0, 1] are row g,
// columns 8 j + 2 (t % 4) and + 1; d[4 j + 2, 3] the same columns of row g + 8. A in registers (`rs`): a[0] = row g,
// a[1] = row g + 8, columns 2 (t % 4) and + 1 of the k columns; a[2], a[3] the same rows, columns + 8 (8-bit elements:
// four columns 4 (t % 4) and on; + 16). So 16 columns of D, rounded and packed, are the A of a following product.
//
// Rules. fence_operands() before the first product that uses registers written otherwise; commit(); wait<pending>()
// before the registers of D (or A) are used; pin() keeps the compiler from moving that use.
#pragma once

#include <type_traits>

#include "common/mbarrier.cuh"

namespace tilescope::kernels::device {

// Shared-memory operands, in panels of 128 bytes a row swizzled as common/tma.h says. Addresses are multiples of 1024
// bytes but for the steps along k. `step_descriptor` moves on by a multiple of 16 bytes.
//
// k_major: k runs along the row (Q, and K as B of Q K^T). A step of 32 bytes of k: + 32; the next panel: + rows * 128.
__device__ __forceinline__ std::uint64_t k_major(std::uint32_t address) {
  constexpr std::uint64_t layout = std::uint64_t{1} << 62 | std::uint64_t{1024 >> 4} << 32 | std::uint64_t{1} << 16;
  return layout | (address & 0x3ffff) >> 4;
}
// mn_major: m or n runs along the row and k down the rows (V as B of P V; 2-byte elements only). A step of k rows:
// + 128 * k. `panel_bytes`: from one panel (64 elements of n) to the next.
__device__ __forceinline__ std::uint64_t mn_major(std::uint32_t address, std::uint32_t panel_bytes) {
  constexpr std::uint64_t layout = std::uint64_t{1} << 62 | std::uint64_t{1024 >> 4} << 32;
  return layout | std::uint64_t{panel_bytes >> 4} << 16 | (address & 0x3ffff) >> 4;
}
__device__ __forceinline__ std::uint64_t step_descriptor(std::uint64_t descriptor, std::uint32_t bytes) {
  return descriptor + (bytes >> 4);
}
enum class Major { k, mn };

__device__ __forceinline__ void fence_operands() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
// Waits until at most `pending` of the newest committed groups are unfinished.
template <int pending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(pending) : "memory");
}
// No use of these registers moves across this point.
template <int count>
__device__ __forceinline__ void pin(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

template <class T>
constexpr bool is_e4m3 = false;
struct E4m3;  // names the format; cuda_fp8.h is not needed
template <>
inline constexpr bool is_e4m3<E4m3> = true;

// Wgmma<n>: ss = A from shared memory, rs = A from registers. k is 16 elements of 2 bytes or 32 of 1 byte; 8-bit
// operands are k-major. accumulate 0 overwrites D.
template <int n>
struct Wgmma;

// Operand lists of n / 2 accumulators, eight at a time.
#define TILESCOPE_NAMES_1 "%0,%1,%2,%3,%4,%5,%6,%7"
#define TILESCOPE_NAMES_2 TILESCOPE_NAMES_1 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define TILESCOPE_NAMES_3 TILESCOPE_NAMES_2 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define TILESCOPE_NAMES_4 TILESCOPE_NAMES_3 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define TILESCOPE_NAMES_5 TILESCOPE_NAMES_4 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define TILESCOPE_NAMES_6 TILESCOPE_NAMES_5 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define TILESCOPE_NAMES_7 TILESCOPE_NAMES_6 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define TILESCOPE_NAMES_8 TILESCOPE_NAMES_7 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define TILESCOPE_NAMES_9 TILESCOPE_NAMES_8 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define TILESCOPE_NAMES_10 TILESCOPE_NAMES_9 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define TILESCOPE_NAMES_11 TILESCOPE_NAMES_10 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define TILESCOPE_NAMES_12 TILESCOPE_NAMES_11 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define TILESCOPE_NAMES_13 TILESCOPE_NAMES_12 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define TILESCOPE_NAMES_14 TILESCOPE_NAMES_13 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define TILESCOPE_NAMES_15 TILESCOPE_NAMES_14 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define TILESCOPE_NAMES_16 TILESCOPE_NAMES_15 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define TILESCOPE_8(d, i)                                                                                     \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define TILESCOPE_VALUES_1(d) TILESCOPE_8(d, 0)
#define TILESCOPE_VALUES_2(d) TILESCOPE_VALUES_1(d), TILESCOPE_8(d, 8)
#define TILESCOPE_VALUES_3(d) TILESCOPE_VALUES_2(d), TILESCOPE_8(d, 16)
#define TILESCOPE_VALUES_4(d) TILESCOPE_VALUES_3(d), TILESCOPE_8(d, 24)
#define TILESCOPE_VALUES_5(d) TILESCOPE_VALUES_4(d), TILESCOPE_8(d, 32)
#define TILESCOPE_VALUES_6(d) TILESCOPE_VALUES_5(d), TILESCOPE_8(d, 40)
#define TILESCOPE_VALUES_7(d) TILESCOPE_VALUES_6(d), TILESCOPE_8(d, 48)
#define TILESCOPE_VALUES_8(d) TILESCOPE_VALUES_7(d), TILESCOPE_8(d, 56)
#define TILESCOPE_VALUES_9(d) TILESCOPE_VALUES_8(d), TILESCOPE_8(d, 64)
#define TILESCOPE_VALUES_10(d) TILESCOPE_VALUES_9(d), TILESCOPE_8(d, 72)
#define TILESCOPE_VALUES_11(d) TILESCOPE_VALUES_10(d), TILESCOPE_8(d, 80)
#define TILESCOPE_VALUES_12(d) TILESCOPE_VALUES_11(d), TILESCOPE_8(d, 88)
#define TILESCOPE_VALUES_13(d) TILESCOPE_VALUES_12(d), TILESCOPE_8(d, 96)
#define TILESCOPE_VALUES_14(d) TILESCOPE_VALUES_13(d), TILESCOPE_8(d, 104)
#define TILESCOPE_VALUES_15(d) TILESCOPE_VALUES_14(d), TILESCOPE_8(d, 112)
#define TILESCOPE_VALUES_16(d) TILESCOPE_VALUES_15(d), TILESCOPE_8(d, 120)

// `shape`: "m64n<n>k<k>.f32.<a>.<b>". x0, x1, ...: the operand numbers after the accumulators, quoted.
#define TILESCOPE_WGMMA_SS(eighths, shape, tail, x0, x1, x2, ...)                                    \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, " x2 ", 0;\n wgmma.mma_async.sync.aligned." shape \
               " {" TILESCOPE_NAMES_##eighths "}, " x0 ", " x1 ", p, 1, 1" tail ";\n}\n"             \
               : TILESCOPE_VALUES_##eighths(d)                                                       \
               : "l"(a), "l"(b), "r"(accumulate)__VA_OPT__(, ) __VA_ARGS__)
#define TILESCOPE_WGMMA_RS(eighths, shape, tail, x0, x1, x2, x3, x4, x5, ...)                                   \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, " x5 ", 0;\n wgmma.mma_async.sync.aligned." shape            \
               " {" TILESCOPE_NAMES_##eighths "}, {" x0 "," x1 "," x2 "," x3 "}, " x4 ", p, 1, 1" tail ";\n}\n" \
               : TILESCOPE_VALUES_##eighths(d)                                                                  \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate)__VA_OPT__(, ) __VA_ARGS__)

#define TILESCOPE_WGMMA(n, eighths, x0, x1, x2, x3, x4, x5, x6)                                                      \
  template <>                                                                                                        \
  struct Wgmma<n> {                                                                                                  \
    template <class T, Major a_major = Major::k, Major b_major = Major::k>                                           \
    static __device__ __forceinline__ void ss(float (&d)[n / 2], std::uint64_t a, std::uint64_t b, int accumulate) { \
      constexpr int ta = a_major == Major::mn, tb = b_major == Major::mn;                                            \
      if constexpr (is_e4m3<T>) {                                                                                    \
        static_assert(ta == 0 && tb == 0, "8-bit operands are k-major");                                             \
        TILESCOPE_WGMMA_SS(eighths, "m64n" #n "k32.f32.e4m3.e4m3", "", x0, x1, x2);                                  \
      } else if constexpr (std::is_same_v<T, __half>) {                                                              \
        TILESCOPE_WGMMA_SS(eighths, "m64n" #n "k16.f32.f16.f16", "," x3 "," x4, x0, x1, x2, "n"(ta), "n"(tb));       \
      } else {                                                                                                       \
        TILESCOPE_WGMMA_SS(eighths, "m64n" #n "k16.f32.bf16.bf16", "," x3 "," x4, x0, x1, x2, "n"(ta), "n"(tb));     \
      }                                                                                                              \
    }                                                                                                                \
    template <class T, Major b_major = Major::k>                                                                     \
    static __device__ __forceinline__ void rs(float (&d)[n / 2], const std::uint32_t (&a)[4], std::uint64_t b,       \
                                              int accumulate) {                                                      \
      constexpr int tb = b_major == Major::mn;                                                                       \
      if constexpr (is_e4m3<T>) {                                                                                    \
        static_assert(tb == 0, "8-bit operands are k-major");                                                        \
        TILESCOPE_WGMMA_RS(eighths, "m64n" #n "k32.f32.e4m3.e4m3", "", x0, x1, x2, x3, x4, x5);                      \
      } else if constexpr (std::is_same_v<T, __half>) {                                                              \
        TILESCOPE_WGMMA_RS(eighths, "m64n" #n "k16.f32.f16.f16", "," x6, x0, x1, x2, x3, x4, x5, "n"(tb));           \
      } else {                                                                                                       \
        TILESCOPE_WGMMA_RS(eighths, "m64n" #n "k16.f32.bf16.bf16", "," x6, x0, x1, x2, x3, x4, x5, "n"(tb));         \
      }                                                                                                              \
    }                                                                                                                \
  };

TILESCOPE_WGMMA(16, 1, "%8", "%9", "%10", "%11", "%12", "%13", "%14")
TILESCOPE_WGMMA(32, 2, "%16", "%17", "%18", "%19", "%20", "%21", "%22")
TILESCOPE_WGMMA(48, 3, "%24", "%25", "%26", "%27", "%28", "%29", "%30")
TILESCOPE_WGMMA(64, 4, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
TILESCOPE_WGMMA(80, 5, "%40", "%41", "%42", "%43", "%44", "%45", "%46")
TILESCOPE_WGMMA(96, 6, "%48", "%49", "%50", "%51", "%52", "%53", "%54")
TILESCOPE_WGMMA(112, 7, "%56", "%57", "%58", "%59", "%60", "%61", "%62")
TILESCOPE_WGMMA(128, 8, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
TILESCOPE_WGMMA(144, 9, "%72", "%73", "%74", "%75", "%76", "%77", "%78")
TILESCOPE_WGMMA(160, 10, "%80", "%81", "%82", "%83", "%84", "%85", "%86")
TILESCOPE_WGMMA(176, 11, "%88", "%89", "%90", "%91", "%92", "%93", "%94")
TILESCOPE_WGMMA(192, 12, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
TILESCOPE_WGMMA(208, 13, "%104", "%105", "%106", "%107", "%108", "%109", "%110")
TILESCOPE_WGMMA(224, 14, "%112", "%113", "%114", "%115", "%116", "%117", "%118")
TILESCOPE_WGMMA(240, 15, "%120", "%121", "%122", "%123", "%124", "%125", "%126")
TILESCOPE_WGMMA(256, 16, "%128", "%129", "%130", "%131", "%132", "%133", "%134")

#undef TILESCOPE_WGMMA
#undef TILESCOPE_WGMMA_SS
#undef TILESCOPE_WGMMA_RS

}  // namespace tilescope::kernels::device
