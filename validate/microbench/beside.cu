// What mma.sync at full rate loses to a pipe that the same warps use: registers' ports are shared. For the record also
// what it loses to other warps' streams of operations on two registers each.
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

// Every warp has 64 products a round, in eight chains, and `operations` of the pipe evenly between them, in 16 chains, each
// of its own register and one that all share, as kernels scale scores and sums.
template <class Operation, int operations>
struct Mixed {
  bool products, pipe;
  static constexpr int steps = 64, chains = 8;
  template <bool with_products, bool with_pipe>
  static __device__ __forceinline__ void round(unsigned (&c)[chains][4], const unsigned (&a)[4], const unsigned (&b)[2],
                                               unsigned (&x)[16], unsigned y) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if constexpr (with_products) Mma::step(c[step % chains], a, b);
      if constexpr (with_pipe)
#pragma unroll
        for (int i = step * operations / steps; i < (step + 1) * operations / steps; ++i) Operation::step(x[i % 16], y);
    }
  }
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned c[chains][4], x[16];
    const unsigned a[4] = {0x38003800u + threadIdx.x, 0x38013800u, 0x38003802u, 0x38033800u};
    const unsigned b[2] = {0x34003400u + threadIdx.x, 0x34013400u}, y = operation::as_bits(0.5f) + threadIdx.x;
    for (int i = 0; i < 16; ++i) x[i] = operation::as_bits(1.0f + 0.001f * static_cast<float>(threadIdx.x + i));
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < 4; ++j) c[i][j] = 0;
    watch.start();
#pragma unroll 1
    for (int done = 0; done < rounds; ++done) {
      if (products && pipe) round<true, true>(c, a, b, x, y);
      else if (products) round<true, false>(c, a, b, x, y);
      else round<false, true>(c, a, b, x, y);
    }
    watch.stop();
    unsigned all = 0;
    for (int i = 0; i < chains; ++i)
      for (int j = 0; j < 4; ++j) all ^= c[i][j];
    for (int i = 0; i < 16; ++i) all ^= x[i];
    return all;
  }
};

// The first four warps multiply (`products`), the others use the pipe: of both at once, the time of the slower.
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

template <class Operation, int operations>
void add_beside(Microbench& bench, const std::string& key) {
  const auto clocks = [&](auto body, int threads) { return cycles_per_round(bench, body, {bench.units(), threads, 0}, 10); };
  using Mixture = Mixed<Operation, operations>;
  const double products = median_of(clocks(Mixture{true, false}, 512)), pipe = median_of(clocks(Mixture{false, true}, 512));
  std::vector<double> held = clocks(Mixture{true, true}, 512);
  const double both = median_of(held);
  for (double& sample : held) sample = (sample - products) / pipe;
  bench.add("beside." + key, held,
            "4 warps a scheduler, 64 m16n8k16 and " + whole(operations) + " of the pipe each: " + whole(both) + " clk for " +
                whole(products) + " and " + whole(pipe));
  using Others = Apart<Operation, operations * 4>;
  const double alone = median_of(clocks(Others{true, false}, 256)), other = median_of(clocks(Others{false, true}, 256)),
               together = median_of(clocks(Others{true, true}, 256));
  MicrobenchCurve curve{"beside." + key + ", the pipe in other warps, two registers an operation",
                        "clk of 256 m16n8k16 a warp alone; of the pipe alone", "clk of both at once", {}};
  curve.points.emplace_back(alone, together), curve.points.emplace_back(other, together);
  bench.add_curve(curve);
}

}  // namespace

void measure_beside(Microbench& bench) {
  add_beside<operation::Ex2, 32>(bench, "mma_ex2");
  add_beside<operation::Ffma, 64>(bench, "mma_ffma");
  add_beside<operation::Max, 64>(bench, "mma_max");
}

}  // namespace tilescope::validate
