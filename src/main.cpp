#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "base/parallel.h"
#include "cli/cli.h"

namespace {

// The kernel clears each page that it gives, and takes a lock for each piece by which a thread's memory grows: that was
// a fifth of the time of a walk through the L2. So a thread takes much of its memory at once, in large pages where the
// system has them. What nothing is written to costs nothing.
void take_memory() {
  constexpr std::size_t pieces = 2, bytes = 30 << 20, page = 4096;  // all is in a thread's heap, which holds 64 MiB
  void* memory[pieces];
  for (void*& each : memory) {
    each = std::malloc(bytes);
    const std::uintptr_t start = (reinterpret_cast<std::uintptr_t>(each) + page - 1) / page * page;
    if (each) madvise(reinterpret_cast<void*>(start), bytes - page, MADV_HUGEPAGE);
  }
  for (void* each : memory) std::free(each);
}

}  // namespace

int main(int argc, char** argv) {
  // Memory of one walk serves the next one.
  constexpr int largest = 32 << 20, keep = 1 << 30;  // bytes; glibc takes no larger threshold of mmap
  mallopt(M_MMAP_THRESHOLD, largest), mallopt(M_TRIM_THRESHOLD, keep);
  tilescope::prepare_threads(take_memory);
  return tilescope::cli::run({argv + 1, argv + argc});
}
