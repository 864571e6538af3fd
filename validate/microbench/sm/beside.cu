// How much slower mma.sync at full rate is when the same warps also use another pipe, because register ports are
// shared. In the record only: the same when other warps issue the operations, on two registers each.
#include <type_traits>

#include "validate/microbench/sm/beside.cuh"
#include "validate/microbench/sm/mma.cuh"

namespace tilescope::validate {
namespace {

struct Mma {
  static constexpr bool emulated = false;
  static __device__ __forceinline__ void step(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " TILESCOPE_MMA_OPERANDS
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

// Every warp issues 64 products per round, in `sums` chains. `operations` of the pipe, in `chains` chains, are spread
// evenly between them. The second operand is a kernel parameter; for maxima it is another chain's register.
template <class Operation, int operations, int chains, int sums>
struct Mixed {
  bool products, pipe;
  unsigned y = 0x3f000000u;  // 0.5f
  static constexpr int steps = 32;
  static constexpr bool two = std::is_same_v<Operation, operation::Max>;
  template <bool with_products, bool with_pipe>
  __device__ __forceinline__ void round(unsigned (&c)[sums][4], const unsigned (&a)[4], const unsigned (&b)[2][2],
                                        unsigned (&x)[chains], const unsigned (&z)[16]) const {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int i = 2 * step; with_products && i < 2 * step + 2; ++i) Mma::step(c[i % sums], a, b[i % 2]);
#pragma unroll
      for (int i = step * operations / steps; with_pipe && i < (step + 1) * operations / steps; ++i)
        Operation::step(x[i % chains], two ? z[step % 16] : y);
    }
  }
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned c[sums][4], x[chains], z[16];
    const unsigned a[4] = {threadIdx.x % 32, 2, 3, 4},
                   b[2][2] = {{0x3c003c00u, 0x3c003c00u}, {0x3c003c00u, 0x3c003c00u}};
    start_pipe(x), start_pipe(z);
    for (int i = 0; i < sums; ++i)
      for (int j = 0; j < 4; ++j) c[i][j] = 0;
    watch.start();
#pragma unroll 1
    for (int done = 0; done < rounds; ++done) {
      if (products && pipe) round<true, true>(c, a, b, x, z);
      else if (products) round<true, false>(c, a, b, x, z);
      else round<false, true>(c, a, b, x, z);
    }
    watch.stop();
    unsigned all = all_of(x) ^ all_of(z);
    for (int i = 0; i < sums; ++i) all ^= all_of(c[i]);
    return all;
  }
};

// The first four warps multiply (`products`), the others use the pipe. With both together, the slower one determines
// the time.
template <class Operation, int operations>
struct Apart {
  bool products, pipe;
  using Products = MmaStream<Mma, 4>;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    if (threadIdx.x < 128) return Products{}(shared, products ? rounds : 0, watch);
    unsigned x[8];
    start_pipe(x);
    watch.start();
    if (pipe)
#pragma unroll 1
      for (int round = 0; round < rounds; ++round) run_pipe<Operation, operations>(x);
    watch.stop();
    return all_of(x);
  }
};

double clocks(const Microbench& bench, auto body, int threads) {
  return median_of(cycles_per_round(bench, body, {bench.units(), threads, 0}, 10));
}

// Delay of the products, in clocks, per clock that the pipe would take without products, with the register assignment
// of `chains` chains.
template <class Operation, int operations, int chains, int sums>
double held(const Microbench& bench) {
  using Body = Mixed<Operation, operations, chains, sums>;
  const double products = clocks(bench, Body{true, false}, 512), pipe = clocks(bench, Body{false, true}, 512);
  return (clocks(bench, Body{true, true}, 512) - products) / pipe;
}

template <class Operation, int operations>
void add_beside(Microbench& bench, const std::string& key) {
  bench.add("beside." + key,
            {held<Operation, operations, 8, 8>(bench), held<Operation, operations, 16, 8>(bench),
             held<Operation, operations, 8, 16>(bench), held<Operation, operations, 16, 16>(bench)},
            "4 warps a scheduler, 64 m16n8k16 in 8 or 16 chains and " + whole(operations) +
                " of the pipe in 8 or 16 each: the middle of four arrangements of registers");
  using Others = Apart<Operation, operations * 4>;
  const double alone = clocks(bench, Others{true, false}, 256), other = clocks(bench, Others{false, true}, 256),
               together = clocks(bench, Others{true, true}, 256);
  MicrobenchCurve apart{"beside." + key + ", the pipe in other warps, two registers an operation",
                        "clk of 256 m16n8k16 a warp alone; of the pipe alone",
                        "clk of both at once",
                        {}};
  apart.points.emplace_back(alone, together), apart.points.emplace_back(other, together);
  bench.add_curve(apart);
}

}  // namespace

void measure_beside(Microbench& bench) {
  add_beside<operation::Ex2, 32>(bench, "mma_ex2");
  add_beside<operation::Ffma, 64>(bench, "mma_ffma");
  add_beside<operation::Max, 64>(bench, "mma_max");
}

}  // namespace tilescope::validate
