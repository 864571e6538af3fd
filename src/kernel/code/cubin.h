// What a cubin, the ELF file of device code, says of its kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/code/elf.h"

namespace tilescope {

struct KernelParameter {
  std::int64_t offset = 0, bytes = 0;  // in the constant bank, from the first parameter on
};

struct CubinKernel {
  std::string name;                         // as the linker sees it
  std::int64_t registers = 0;               // of a thread
  std::int64_t shared_bytes = 0;            // static shared memory of a block, without what the system reserves
  std::int64_t local_bytes = 0;             // stack frame of a thread: arrays in local memory, spilled registers
  std::int64_t barriers = 0;                // named barriers of a block
  std::int64_t most_threads = 0;            // of a block, by __launch_bounds__ or .reqntid; 0: not stated
  std::int64_t cluster_blocks = 0;          // blocks of a cluster that the code requires; 0: none
  std::vector<KernelParameter> parameters;  // in the order of the source
  std::int64_t parameters_offset = 0x210;   // of the first parameter in constant bank 0
  std::string code;                         // machine code: 16 bytes an instruction
  bool is_function = false;                 // no kernel: kernels of other objects call it
  bool linked = true;  // false: of a relocatable object, whose linker adds shared memory and called functions
};

struct Cubin {
  std::string compute_capability;    // "9.0"
  std::vector<CubinKernel> kernels;  // by name
  std::string image;                 // bytes of the file
};

// Throws InputError for a file that is no cubin, or is damaged. Attributes: .nv.info sections, as nvcc of CUDA 11 to 13
// writes them for compute capability 7.0 and later.
Cubin read_cubin(const ByteView& view);

}  // namespace tilescope
