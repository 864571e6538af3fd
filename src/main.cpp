#include <malloc.h>

#include "cli/cli.h"

int main(int argc, char** argv) {
  // Memory of one walk through the L2 serves the next one: the kernel clears each page that it gives, which takes
  // longer than most of what is done there.
  constexpr int largest = 32 << 20, keep = 1 << 30;  // bytes; glibc takes no larger threshold of mmap
  mallopt(M_MMAP_THRESHOLD, largest), mallopt(M_TRIM_THRESHOLD, keep);
  return tilescope::cli::run({argv + 1, argv + argc});
}
