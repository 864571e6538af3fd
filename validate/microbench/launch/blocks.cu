// Scheduling bias between blocks that share an SM. Schedulers issue from the oldest ready warp, so the older block runs
// faster, as far as its warps do not wait for memory or barriers.
#include <map>

#include "validate/microbench/sm/mma.cuh"
#include "validate/microbench/sm/operations.cuh"

namespace tilescope::validate {
namespace {

constexpr int threads = 256, rounds = 300;

// SM, start time and end time of a block.
struct Mark {
  long long begin, end;
  unsigned unit;
};

// One round of a block: products with operands loaded by ldmatrix, special functions, maxima, a barrier. The computed
// values have no meaning.
template <int products, int loads, int specials, int maxima>
__global__ void __launch_bounds__(threads) mix_kernel(Mark* marks, unsigned* sink) {
  extern __shared__ __align__(128) unsigned char shared[];
  const long long begin = clock64();
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + threadIdx.x % 32 * 16;
  const unsigned a[4] = {threadIdx.x, 1, 2, 3};
  unsigned c[8][4] = {}, x[8], b[8];
  for (int i = 0; i < 8; ++i)
    x[i] = operation::as_bits(threadIdx.x * 0.001f + static_cast<float>(i)), b[i] = static_cast<unsigned>(i);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < products; ++i) {
      if (i % (products / loads) == 0) {  // warps load the same data; each load has its own address
        unsigned* const to = b + i % 2 * 4;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at + i * 512)
                     : "memory");
      }
      unsigned(&sum)[4] = c[i % 8];
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " TILESCOPE_MMA_OPERANDS
                   : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[i % 8]), "r"(b[(i + 1) % 8]));
    }
#pragma unroll
    for (int i = 0; i < specials; ++i) operation::Ex2::step(x[i % 8], 0);
#pragma unroll
    for (int i = 0; i < maxima; ++i) operation::Max::step(x[i % 8], c[i % 8][i / 8 % 4]);
    __syncthreads();
  }
  unsigned all = 0;
  for (int i = 0; i < 8; ++i) all ^= x[i] ^ c[i][0];
  if (all == 0x7fedcba9u) *sink = all;
  __syncthreads();
  const unsigned unit = own_sm();
  if (threadIdx.x == 0) marks[blockIdx.x] = {begin, clock64(), unit};
}

// Scheduling bias between two equal resident blocks of an SM, mean over SMs: 0 = fair, 1 = oldest first. `alone`:
// clocks of a block that has the SM to itself. Until the older block ends, the two together progress at `both` blocks
// per clock. The older block's share is half of that at bias 0, and its standalone rate at bias 1.
double ahead(const std::vector<Mark>& marks, double alone) {
  std::map<unsigned, std::vector<Mark>> units;
  for (const Mark& mark : marks) units[mark.unit].push_back(mark);
  double sum = 0, count = 0;
  for (auto& [unit, pair] : units) {
    if (pair.size() != 2) continue;
    const auto length = [](const Mark& mark) { return static_cast<double>(mark.end - mark.begin); };
    const double first = std::min(length(pair[0]), length(pair[1])), last = std::max(length(pair[0]), length(pair[1]));
    const double both = (2 - (last - first) / alone) / first;
    sum += (1 / first - both / 2) / (1 / alone - both / 2), count += 1;
  }
  return count > 0 ? sum / count : 0;
}

template <int products, int loads, int specials, int maxima>
std::vector<double> ahead_of(Microbench& bench) {
  const std::string name = whole(products) + " mma.sync, " + whole(loads) + " ldmatrix, " + whole(specials) + " ex2, " +
                           whole(maxima) + " maxima";
  constexpr int shared = 96 << 10;  // two blocks fit an SM
  const auto kernel = mix_kernel<products, loads, specials, maxima>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "cudaFuncSetAttribute");
  const DeviceBuffer memory(sizeof(Mark) * static_cast<std::size_t>(2 * bench.units()) + 16);
  auto* marks = static_cast<Mark*>(memory.get());
  const auto run = [&](int blocks) {
    for (int again = 0; again < 2; ++again)  // back to back, as kernels are timed; the second run is used
      kernel<<<static_cast<unsigned>(blocks), threads, shared>>>(
          marks, reinterpret_cast<unsigned*>(marks + 2 * bench.units()));
    check_cuda(cudaGetLastError(), "launching a microbenchmark");
    std::vector<Mark> host(static_cast<std::size_t>(blocks));
    check_cuda(cudaMemcpy(host.data(), marks, sizeof(Mark) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  };
  std::vector<double> samples;
  for (int i = 0; i <= bench.repeats(); ++i) {
    double alone = 0;
    for (const Mark& mark : run(bench.units())) alone += static_cast<double>(mark.end - mark.begin) / bench.units();
    const std::vector<Mark> pairs = run(2 * bench.units());
    samples.push_back(ahead(pairs, alone));
    if (i == bench.repeats()) {
      std::vector<double> lengths;
      for (const Mark& mark : pairs) lengths.push_back(static_cast<double>(mark.end - mark.begin));
      std::sort(lengths.begin(), lengths.end());
      MicrobenchCurve curve{
          "two blocks of an SM, " + name, "percent of the blocks", "clk of a block, alone at 0", {{0, alone}}};
      for (const int percent : {1, 10, 25, 40, 49, 51, 60, 75, 90, 99})
        curve.points.emplace_back(percent, lengths[lengths.size() * static_cast<std::size_t>(percent) / 100]);
      bench.add_curve(curve);
    }
  }
  samples.erase(samples.begin());  // loads the code
  return samples;
}

}  // namespace

// The instruction mix of attention by mma.sync: warps own 16 or 32 rows that share each loaded operand, and products
// per score are those of head_dim 64 or 128.
void measure_blocks(Microbench& bench) {
  const std::vector<double> of_mixes[] = {ahead_of<64, 32, 32, 32>(bench), ahead_of<64, 16, 32, 32>(bench),
                                          ahead_of<64, 32, 16, 16>(bench), ahead_of<64, 16, 16, 16>(bench)};
  std::vector<double> mean(of_mixes[0].size(), 0);
  MicrobenchCurve curve{"how far the older of two blocks is served first",
                        "64 mma.sync with ldmatrix, ex2 and maxima: 32, 32, 32; 16, 32, 32; 32, 16, 16; 16, 16, 16",
                        "0: even shares, 1: as if by itself",
                        {}};
  for (const std::vector<double>& mix : of_mixes) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += mix[i] / 4;
    curve.points.emplace_back(static_cast<double>(curve.points.size()) + 1, median_of(mix));
  }
  bench.add("beside.oldest_first", mean,
            "bias between two resident blocks, 0 = fair, 1 = oldest first; blocks of 8 warps, rounds of 64 mma.sync, "
            "16 or 32 ldmatrix, 16 or 32 ex2 and maxima, a barrier; mean of four mixes");
  bench.add_curve(curve);
}

}  // namespace tilescope::validate
