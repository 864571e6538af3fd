// Shared memory of another SM of the cluster: rate of reading by cluster size, and latency of a dependent load.
#include <string>

#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

constexpr int cluster_loads = 8;           // in flight for each thread
constexpr int cluster_bytes = 120 * 1024;  // more than half an SM's shared memory: one block an SM

__device__ __forceinline__ unsigned rank_in_cluster() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ unsigned blocks_in_cluster() {
  unsigned blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}

// The address, in the cluster's shared memory, of a byte of this block's as block `rank` has it.
__device__ __forceinline__ unsigned address_at(unsigned own, unsigned rank) {
  unsigned address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(rank));
  return address;
}

// Every thread of the cluster arrives and waits: what was stored before is visible after.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Each block reads the shared memory of the next one of its cluster, 16 bytes a thread and load. A round is
// `cluster_loads` of them, in an order that changes from round to round: the assembler would move loads of the same
// addresses out of the loop. Blocks leave together: none may end while another one reads its memory.
struct ReadNeighbor {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned own = address_of(shared);
    auto* words = reinterpret_cast<unsigned*>(shared);
    for (unsigned i = threadIdx.x; i < cluster_loads * blockDim.x * 4; i += blockDim.x) words[i] = i * 2654435761u;
    const unsigned from = address_at(own, (rank_in_cluster() + 1) % blocks_in_cluster()) + threadIdx.x * 16;
    unsigned x = 0;
    cluster_barrier();
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      uint4 v[cluster_loads];
#pragma unroll
      for (int j = 0; j < cluster_loads; ++j)
        asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v[j].x), "=r"(v[j].y), "=r"(v[j].z), "=r"(v[j].w)
                     : "r"(from + static_cast<unsigned>((round + j) % cluster_loads) * blockDim.x * 16));
#pragma unroll
      for (int j = 0; j < cluster_loads; ++j) x ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
    }
    watch.stop();
    cluster_barrier();
    return x;
  }
};

// One thread follows addresses in the next block's memory; each word holds its own address.
struct FollowNeighbor {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned own = address_of(shared), rank = rank_in_cluster(), next = (rank + 1) % blocks_in_cluster();
    if (threadIdx.x == 0) reinterpret_cast<unsigned*>(shared)[0] = address_at(own, rank);
    unsigned at = address_at(own, next);
    cluster_barrier();
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < 16; ++step)
        if (threadIdx.x == 0) asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    watch.stop();
    cluster_barrier();
    return at;
  }
};

// Clusters of this size that run at once, one block an SM; 0 where the GPU has none.
template <class Body>
int clusters_at_once(int blocks, int threads, int shared_bytes) {
  const auto kernel = kernel_of<Body>();
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
             "cudaFuncSetAttribute");
  if (blocks > 8)  // 8 is the largest size that every GPU with clusters has
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cudaFuncSetAttribute");
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(blocks), cluster.val.clusterDim.y = 1, cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks)), config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes), config.attrs = &cluster, config.numAttrs = 1;
  int count = 0;
  if (cudaOccupancyMaxActiveClusters(&count, kernel, &config) != cudaSuccess) {
    cudaGetLastError();  // clears it
    return 0;
  }
  return count;
}

}  // namespace

void measure_dsmem(Microbench& bench) {
  constexpr int threads = 512;
  static_assert(threads * 16 * cluster_loads <= cluster_bytes);
  for (const int size : {2, 4, 8, 16}) {
    const int clusters = clusters_at_once<ReadNeighbor>(size, threads, cluster_bytes);
    if (clusters == 0) continue;
    const Shape shape{clusters * size, threads, cluster_bytes, size};
    bench.add(
        "dsmem.read.n" + std::to_string(size),
        inverse(cycles_per_round(bench, ReadNeighbor{}, shape, 400), 16.0 * threads * cluster_loads),
        "each block reads the shared memory of the next one of its cluster, 16 warps, 8 loads of 16 B a thread in "
        "flight; " +
            std::to_string(clusters * size) + " SMs at once");
  }
  if (clusters_at_once<FollowNeighbor>(2, 32, 1024) > 0)
    bench.add("dsmem.latency", scaled(cycles_per_round(bench, FollowNeighbor{}, {2, 32, 1024, 2}, 500), 1.0 / 16),
              "one thread of each block of one cluster of two follows addresses in the other's shared memory");
}

}  // namespace tilescope::validate
