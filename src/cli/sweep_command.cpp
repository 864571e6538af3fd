// sweep: the cross product of axes, one prediction a line, streamed so that memory does not grow with the points.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/help.h"

namespace tilescope::cli {
namespace {

struct SweepAxis {
  std::string name;
  std::vector<std::int64_t> values;
};

[[noreturn]] void refuse(const std::string& message) { throw InputError(Diagnostic{.path = "--axis", .message = message}); }

constexpr std::size_t most_values = 1000000;
constexpr std::int64_t largest_value = std::int64_t{1} << 40;

// "first:last:xF" multiplies by F, "first:last:+S" (or ":S") adds S; or a comma list.
std::vector<std::int64_t> parse_values(const std::string& text) {
  std::vector<std::int64_t> values;
  const std::vector<std::string> parts = split(text, ':');
  const auto number = [&](std::string_view word) {
    const auto value = parse_count(word);
    if (!value || *value < 1 || *value > largest_value) refuse(fmt::format("expected integers from 1 to 2^40, found '{}' in '{}'", word, text));
    return *value;
  };
  if (parts.size() == 1) {
    for (const std::string& word : split(text, ',')) values.push_back(number(word));
    return values;
  }
  if (parts.size() != 3 || parts[2].empty()) refuse(fmt::format("expected FIRST:LAST:xFACTOR or FIRST:LAST:+STEP or a list A,B,C, found '{}'", text));
  const bool times = parts[2][0] == 'x';
  const std::int64_t step = number(times || parts[2][0] == '+' ? parts[2].substr(1) : parts[2]);
  if (times && step < 2) refuse("a factor must be at least 2");
  const std::int64_t last = number(parts[1]);
  for (std::int64_t value = number(parts[0]); value <= last;) {
    values.push_back(value);
    if (values.size() > most_values) refuse(fmt::format("'{}' gives more than {} values", text, most_values));
    if (times ? __builtin_mul_overflow(value, step, &value) : __builtin_add_overflow(value, step, &value)) break;
  }
  if (values.empty()) refuse(fmt::format("'{}' is an empty range: FIRST is above LAST", text));
  return values;
}

SweepAxis parse_axis(const std::string& text, const Plan& plan) {
  std::vector<std::string> names{"batch", "heads_q", "heads_kv", "q_len", "kv_len", "head_dim", "v_head_dim", "seqlen", "warps"};
  for (const Parameter& parameter : plan.schedule.parameters) names.push_back("tile_" + parameter.name);
  const std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  std::replace(name.begin(), name.end(), '-', '_');
  if (equals == std::string::npos) refuse(fmt::format("expected NAME=VALUES, as in q_len=1k:128k:x2, found '{}'", text));
  if (std::find(names.begin(), names.end(), name) == names.end()) refuse(fmt::format("unknown axis '{}'{}", name, did_you_mean(name, names)));
  return {name, parse_values(text.substr(equals + 1))};
}

void set_axis(Point& point, const Plan& plan, const std::string& name, std::int64_t value) {
  Workload& w = point.workload;
  if (name == "batch") w.batch = value;
  else if (name == "heads_q") w.heads_q = value;
  else if (name == "heads_kv") w.heads_kv = value;
  else if (name == "q_len") w.q_len = value;
  else if (name == "kv_len") w.kv_len = value;
  else if (name == "seqlen") w.q_len = w.kv_len = value;
  else if (name == "head_dim") w.d_qk = w.d_v = value;
  else if (name == "v_head_dim") w.d_v = value;
  else if (name == "warps") point.warps = value;
  else point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name.substr(5)))] = value;
}

// Two axes over the same extent would leave one without effect.
void add_axis(std::vector<SweepAxis>& axes, SweepAxis axis) {
  const auto extents = [](const std::string& name) -> std::vector<std::string> {
    if (name == "seqlen") return {"q_len", "kv_len"};
    if (name == "head_dim") return {"head_dim", "v_head_dim"};
    return {name};
  };
  const auto sets = extents(axis.name);
  for (const SweepAxis& other : axes)
    for (const std::string& extent : extents(other.name))
      if (std::find(sets.begin(), sets.end(), extent) != sets.end())
        refuse(fmt::format("axes '{}' and '{}' both set {}; give one", other.name, axis.name, extent));
  const auto too_many = std::find_if(axis.values.begin(), axis.values.end(), [](std::int64_t value) { return value > 64; });
  if (axis.name == "warps" && too_many != axis.values.end()) refuse(fmt::format("warps must be from 1 to 64, found {}", *too_many));
  axes.push_back(std::move(axis));
}

// Sends lines to stdout or, atomically, to a file.
class LineSink {
 public:
  explicit LineSink(const Arguments& arguments) {
    if (const auto file = arguments.text("output"); file && *file != "-") file_ = std::make_unique<OutputFile>(*file);
  }
  void write(const std::string& text) {
    if (file_) file_->write(text);
    else std::cout << text;
    if (!file_ && !std::cout) throw InputError(Diagnostic{.file = "standard output", .message = "cannot be written; is the disk full or the reader gone?"});
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<OutputFile> file_;
};

const std::string csv_header =
    "hardware,kernel,mask,batch,heads_q,heads_kv,q_len,kv_len,d_qk,d_v,tile_q,tile_kv,warps,feasible,hbm_read_bytes,hbm_write_bytes,"
    "l2_read_bytes,l2_write_bytes,smem_read_bytes,smem_write_bytes,register_read_bytes,register_write_bytes,compulsory_bytes,tensor_flop,"
    "model_flop,exp,seconds,bound_by\n";

std::string csv_line(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Prediction& p) {
  const Workload& w = point.workload;
  std::string line = fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", hardware.id, plan.kernel.name, point.mask.text, w.batch, w.heads_q,
                                 w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v, point.tiles[0], point.tiles[1], point.warps, p.feasible);
  for (const auto& both : p.traffic) line += fmt::format(",{},{}", both[0], both[1]);
  return line + fmt::format(",{},{},{},{},{:.9g},{}\n", p.compulsory_bytes, p.work.tensor_flop, p.work.model_flop, p.work.exp, p.time.total,
                            to_string(p.time.bound_by));
}

}  // namespace

ExitStatus sweep_command(const std::vector<std::string>& words) {
  const auto specs = point_options() + std::vector<OptionSpec>{{"axis", "NAME=FIRST:LAST:xFACTOR, NAME=FIRST:LAST:+STEP or NAME=A,B,C; repeat to cross"}} + output_options();
  if (help_wanted(words, "sweep --axis NAME=VALUES [--axis ...] --hardware ID ...", specs,
                  "  tilescope sweep --axis seqlen=1k:128k:x2 --axis tile_kv=32,64,128 --hardware h200_sxm --heads 16 --q-len 1k --format csv -o sweep.csv\n"))
    return ExitStatus::done;
  const Arguments arguments("sweep", words, specs, 0);
  const Plan plan = read_plan(arguments);
  const HardwareProfile hardware = read_hardware(arguments);
  Point point = read_point(arguments, plan);
  std::vector<SweepAxis> axes;
  for (const std::string& text : arguments.all("axis")) add_axis(axes, parse_axis(text, plan));
  if (axes.empty()) refuse("is missing: give at least one axis to sweep, as in --axis seqlen=1k:128k:x2");
  const Format format = arguments.has("format") ? arguments.format() : Format::csv;
  if (format == Format::md || format == Format::text) throw InputError(Diagnostic{.path = "--format", .message = "a sweep is written as csv or json (one object a line)"});
  LineSink sink(arguments);
  if (format == Format::csv) sink.write(csv_header);
  Prediction prediction;
  std::vector<std::size_t> at(axes.size(), 0);
  for (std::size_t digit = 0; digit < axes.size();) {
    for (std::size_t i = 0; i < axes.size(); ++i) set_axis(point, plan, axes[i].name, axes[i].values[at[i]]);
    if (const auto violations = point.workload.violations(); !violations.empty()) refuse(violations.front());
    if (!plan.assumed)  // a kernel answers only for what it is built for
      if (const auto reasons = unsupported(plan, point); !reasons.empty()) refuse(reasons.front());
    predict(plan, hardware, point, prediction);
    sink.write(format == Format::csv ? csv_line(plan, hardware, point, prediction) : to_json(plan, hardware, point, prediction, {.terms = false}).dump() + "\n");
    for (digit = 0; digit < axes.size() && ++at[digit] == axes[digit].values.size(); ++digit) at[digit] = 0;
  }
  sink.commit();
  return ExitStatus::done;
}

}  // namespace tilescope::cli
