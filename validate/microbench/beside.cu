// What mma.sync at full rate loses to a pipe that other warps use: registers' ports are shared.
#include "validate/microbench/beside.cuh"
#include "validate/microbench/mma.cuh"

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

// The first four warps multiply (`products`), the others use the pipe: of both at once, the time of the slower.
template <class Operation, int operations>
struct Beside {
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

template <class Operation, int operations>
void add_beside(Microbench& bench, const std::string& key) {
  using Body = Beside<Operation, operations>;
  const Shape shape{bench.units(), 256, 0};
  const auto clocks = [&](bool products, bool pipe) {
    return median_of(cycles_per_round(bench, Body{products, pipe}, shape, 10));
  };
  const double products = clocks(true, false), pipe = clocks(false, true), both = clocks(true, true);
  bench.add_curve({key + " (the profile's values come from streams of other registers)",
                   "clk of the products alone, " + std::to_string(Body::Products::steps * 4) + " m16n8k16 a warp; of the pipe alone",
                   "clk of both at once",
                   {{products, both}, {pipe, both}}});
}

}  // namespace

void measure_beside(Microbench& bench) {
  add_beside<operation::Ex2, 128>(bench, "beside.mma_ex2");
  add_beside<operation::Ffma, 256>(bench, "beside.mma_ffma");
  add_beside<operation::Max, 256>(bench, "beside.mma_max");
}

}  // namespace tilescope::validate
