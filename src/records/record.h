// A record: one measured point with everything needed to interpret it later. It is a line of a file (record_lines.h)
// or, in the older form, a JSON file of its own, `tilescope/record/1`.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"
#include "records/point.h"

namespace tilescope::validate {

inline constexpr std::string_view record_schema = "tilescope/record/1";

// Records are kept in a file of that name, and validate reads the experiment of that name.
bool is_experiment_name(std::string_view name);
inline constexpr std::string_view experiment_name_rule =
    "may have letters, digits, '_', '-' and inner '.' only: records are kept in a file of that name";

// What an environment or a record holds of a file that another tool wrote (`tilescope import`) may be unknown: a text
// is empty then, a number 0, an optional value absent. A record of our own states everything.
struct Environment {
  std::string hardware;  // profile id the experiment named: "h200_sxm"
  std::string gpu, chip, driver, cuda, cupti;
  double sm_clock_max_hz = 0, memory_clock_hz = 0, power_limit_w = 0;
  std::optional<bool> ecc;
  std::int64_t l2_bytes = 0;
  std::string date, revision;  // UTC "2026-11-20T17:03:00Z"; git revision of the code that measured
  std::string l2_groups =
      {};                 // this device's SMs, as in the profile's levels.l2.groups: "16a 16b"; empty: not measured
  std::string tool = {};  // "ncu", "nsys", "torch.profiler": what wrote the imported file; empty: tilescope measured
};

// What the runtime and the function's attributes say of one launch. Bytes; spills are bytes of local memory a thread.
struct LaunchFacts {
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::optional<std::int64_t> registers_per_thread, static_smem, dynamic_smem, local_bytes_per_thread;
  std::optional<std::int64_t> total_smem = {};  // where only the sum of static and dynamic is known
  std::int64_t blocks_per_unit = 0;             // 0: unknown
};

// One kernel launch of the schedule; its counters start with a cold, clean L2.
struct MeasuredLaunch {
  std::string name;
  LaunchFacts launch;
  std::map<std::string, double> counters;  // metric -> value over this launch alone
  std::map<std::string, double>
      counters_with_flush;  // the same launch with a read of flush_bytes after it in the range
  // Traffic is counted several times, because now and then something else on the GPU moves a few hundred KB; above
  // stands the median, here every sample.
  std::map<std::string, std::vector<double>> samples, samples_with_flush;
  std::map<std::string, double> rounding;  // of imported counters that were printed rounded: the last digit's worth
};

// State of the GPU in the middle of the steady-state runs.
struct Clocks {
  double sm_hz = 0, memory_hz = 0, power_w = 0, temperature_c = 0;
  std::vector<std::string> throttle;  // reasons that NVML names, "none" never listed
  // Other processes that had the GPU open before or after the point was timed; absent: not known.
  std::optional<std::int64_t> other_processes = {};
};

// How far samples lie apart: from the 10th to the 90th percentile, as a part of the median. 0 for fewer than two.
double spread_of_samples(std::vector<double> seconds);
// Steady samples that lie further apart were disturbed: of 2,254 recorded points 99.5 % do not.
inline constexpr double most_spread = 0.1;

struct Correctness {
  double max_error = 0, tolerance = 0;  // absolute error of O against the double-precision oracle
  std::int64_t checked_elements = 0;
  bool passed = false;
};

// Contents of the GPU's caches when a launch began.
enum class Caches { cold, warm, unknown };

// Where a record comes from that was not measured by tilescope.
struct ImportSource {
  std::string file;      // its name without folders
  std::string launches;  // which of its launches, in the tool's numbers: "3, 17, 31"
  Caches caches = Caches::unknown;
  double sm_hz = 0;  // the clock of the SMs as the tool counted it; 0: unknown
};

struct Record {
  std::string file;  // where it was read from; not stored
  std::string experiment;
  Environment environment;
  MeasurePoint point;
  std::map<std::string, double> counters;             // summed over islands
  std::map<std::string, double> counters_with_flush;  // dram bytes with every dirty line written back, summed
  double flush_bytes = 0;                             // read by each flush inside counters_with_flush
  int passes = 0;                                     // of CUPTI, over all its sessions; 0: unknown
  std::vector<std::string> unavailable;               // metrics asked for that the chip lacks
  std::vector<double> cold_seconds, steady_seconds;   // of the whole sequence of launches, every sample
  std::vector<double> program_seconds;     // of an imported trace: kernels' durations as the program ran them, summed
  std::optional<Clocks> clocks;            // absent without NVML
  std::optional<Correctness> correctness;  // always there in a record of our own
  std::optional<ImportSource> source;      // of an imported record alone
  std::vector<MeasuredLaunch> islands;     // at least one, in launch order
};

// The older form: "<directory>/<experiment>/<point id>.json"
std::filesystem::path record_path(const std::filesystem::path& directory, const std::string& experiment,
                                  const MeasurePoint& point);

std::string to_json(const Record& record);

// Both write atomically and create the folder. They throw InputError when that is not possible.
void write_record_file(const std::filesystem::path& file, std::string_view text);
void write_record(const Record& record, const std::filesystem::path& file);

// Throws InputError with every finding: not JSON (truncated), another schema, missing fields, wrong types, values
// that are negative or not finite.
Record read_record(const std::filesystem::path& file);
Record parse_record(std::string_view text, const std::string& file_name);

// Gives `use` every record below `place`, one at a time: files of lines (*.jsonl) and files of one record (*.json), in
// the order of their paths. `place` may also be one such file. Throws InputError with the findings of all of them at
// the end, or when there is no record.
void for_each_record(const std::filesystem::path& place, const std::function<void(Record&&)>& use);
std::vector<Record> read_records(const std::filesystem::path& place);

}  // namespace tilescope::validate

namespace tilescope {
template <>
struct EnumTable<validate::Caches> {
  static constexpr std::array rows{NamedKind{validate::Caches::cold, "cold"}, NamedKind{validate::Caches::warm, "warm"},
                                   NamedKind{validate::Caches::unknown, "unknown"}};
};
}  // namespace tilescope
