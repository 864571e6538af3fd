// What a file of another tool says of a program's kernel launches, whatever its form.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_table.h"

namespace tilescope::imported {

enum class ToolForm { torch_trace, nsys_sqlite, ncu_csv, measured_yaml };

struct ToolFormRow {
  ToolForm value;
  std::string_view name;   // of the tool, as records state it
  std::string_view title;  // of the form
};

// A call of a framework's operator that may launch attention. Arguments are by position.
struct ToolOperator {
  std::string name;
  std::vector<std::vector<std::int64_t>> dims;  // of tensors; empty for other arguments
  std::vector<std::string> types;               // "c10::BFloat16"
  std::vector<std::string> values;              // of arguments that are no tensors, as text
};

struct ToolLaunch {
  std::string id;    // as the tool numbers it
  std::string name;  // of the kernel, with its template arguments
  std::optional<std::array<std::int64_t, 3>> grid, block;
  std::optional<std::int64_t> registers, static_smem, dynamic_smem, total_smem, local_bytes;
  std::optional<double> seconds;           // of the kernel alone
  std::map<std::string, double> counters;  // by metric, in base units: bytes, counts, cycles
  std::map<std::string, double> rounding;  // of them, those that the tool printed rounded: the last digit's worth
  std::vector<std::string> unavailable;    // metrics without a value
  double sm_hz = 0;                        // counted clock of the SMs; 0: unknown
  std::int64_t passes = 0;                 // in which the counters were collected; 0: unknown
  std::int64_t device = 0;
  std::optional<std::size_t> call;  // position in ToolFile::operators
};

struct ToolDevice {
  std::string name, chip, compute_capability;
  std::int64_t units = 0, memory_bytes = 0, l2_bytes = 0;  // 0: unknown
  double sm_clock_max_hz = 0;
  std::optional<bool> ecc;
};

// A point that a person wrote into the file, with the launches that measured it.
struct StatedPoint {
  std::vector<std::pair<std::string, std::string>> words;  // point options: {"q_len", "32k"}
  std::int64_t first = 0, last = 0;                        // of ToolFile::launches
  std::string place;                                       // in the file: "points[2]"
};

// What a file says that a person wrote, and tools do not say.
struct Stated {
  std::optional<std::string> hardware, kernel, caches;  // as the options of `import`
  std::vector<StatedPoint> points;
};

struct ToolFile {
  std::string path;
  ToolForm form = ToolForm::torch_trace;
  std::string driver, cuda, cupti;  // empty: unknown
  std::map<std::int64_t, ToolDevice> devices;
  std::vector<ToolOperator> operators;
  std::vector<ToolLaunch> launches;  // in the order in which they ran, or the tool lists them
  std::vector<std::string> notes;    // what a reader of the records must know
  Stated stated;
};

}  // namespace tilescope::imported

namespace tilescope {
template <>
struct EnumTable<imported::ToolForm> {
  using Form = imported::ToolForm;
  static constexpr std::array rows{imported::ToolFormRow{Form::torch_trace, "torch.profiler", "PyTorch profiler trace"},
                                   imported::ToolFormRow{Form::nsys_sqlite, "nsys", "Nsight Systems SQLite export"},
                                   imported::ToolFormRow{Form::ncu_csv, "ncu", "Nsight Compute CSV"},
                                   imported::ToolFormRow{Form::measured_yaml, "yaml", "measurements in YAML"}};
};
}  // namespace tilescope
