// A descriptor (kernel.yaml) from a kernel's machine code and how it was launched.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_table.h"
#include "diagram/workload.h"
#include "kernel/describe/facts.h"
#include "kernel/describe/launch/launch_sizes.h"

namespace tilescope {

// Where a value of a description comes from.
enum class ValueSource { elf, code, launch, tensor_map, given };
template <>
struct EnumTable<ValueSource> {
  static constexpr std::array rows{NamedKind{ValueSource::elf, "elf"}, NamedKind{ValueSource::code, "code"},
                                   NamedKind{ValueSource::launch, "launch"},
                                   NamedKind{ValueSource::tensor_map, "tensor map"},
                                   NamedKind{ValueSource::given, "given"}};
};

struct DescribedValue {
  std::string key, value;  // of the descriptor: "tile_q", "128"
  ValueSource from = ValueSource::code;
  std::string reason;  // what in the source says so
};

struct KernelLaunch {
  std::array<std::int64_t, 3> grid{0, 0, 0};  // blocks; zeros: not known
  std::int64_t threads = 0;                   // of a block; 0: not known
  std::int64_t dynamic_smem = 0;              // bytes of a block
  std::int64_t stages = 0;                    // tiles of keys in shared memory, as its copies show them; 0: not known
};

struct DescribeInput {
  std::string name;  // of the descriptor
  AttentionFacts facts{};
  KernelLaunch launch{};
  std::int64_t l2_bytes = 0;           // of the GPU that ran it; 0: not known
  std::optional<Workload> workload{};  // of the launch
  std::string mask = "none";           // of the launch
  ValueSource sizes_from = ValueSource::given;
  std::string schedule{};  // "flash2" or "split-kv", where a launch of one part fits both; empty: not given
  // Whether somebody states the workload's head dimensions, where the code leaves them to the launch.
  bool head_dims_stated = true;
  ValueSource head_dims_from = ValueSource::code;
  LaunchSizes sizes{};  // as the launch shows them; its open questions are missing values
};

struct MissingValue {
  std::string key, reason;
  bool of_other_launch = false;  // another kernel of the schedule has it: what this one does is known without it
};

struct Description {
  std::string name;
  AttentionPass pass = AttentionPass::forward;
  bool is_part = false;                                       // of the keys, whose results another launch merges
  std::int64_t splits = 1;                                    // parts of the keys, merged by another launch
  std::vector<DescribedValue> kernel, island, work, variant;  // by part of the file, in its order
  std::vector<DescribedValue> launch;                         // sizes of the launch, by the options that state them
  std::vector<MissingValue> missing;                          // what could not be found, and why
  std::string program;                                        // step_program.h

  std::string launch_name() const;  // in its schedule
  std::string yaml() const;         // the descriptor; the source of each value, and what is missing, are comments
};

// The format that a descriptor calls "fp16" where instructions say "F16"; empty: none of attention's.
std::string operand_format(const std::string& operands);

// Sizes and mask as the launch shows them, where all of them are known.
void add_launch_sizes(const LaunchSizes& sizes, bool tensor_maps, DescribeInput& input);

// Forward attention by one loop over keys. What does not follow from the input is in `missing`, never guessed.
Description describe_kernel(const DescribeInput& input);

}  // namespace tilescope
