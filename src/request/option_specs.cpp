#include "request/option_specs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "diagram/mask.h"
#include "diagram/pass.h"
#include "hardware/changes.h"
#include "hardware/derived.h"
#include "schedule/schedule.h"

namespace tilescope {

const std::map<std::string, std::string>& option_aliases() {
  static const std::map<std::string, std::string> table{
      {"--heads", "--heads-q"},    {"--kv-heads", "--heads-kv"}, {"--seqlen", "--q-len"}, {"-s", "--q-len"},
      {"--seqlen-kv", "--kv-len"}, {"--batchsize", "--batch"},   {"-b", "--batch"},       {"-d", "--head-dim"},
      {"--gpu", "--hardware"},     {"-o", "--output"},           {"-q", "--quiet"},       {"-h", "--help"}};
  return table;
}

OptionSpec threads_option() {
  return {"threads", "predict on so many threads (default: all cores); the output does not depend on it", Value::count};
}

std::size_t threads_of(const Options& options) {
  const auto given = options.integer("threads", 1, most_threads);
  return given ? static_cast<std::size_t>(*given) : all_cores();
}

OptionSpec set_option() {
  return {"set",
          "change numbers of the GPU's profile, in its units or by percent, as in "
          "levels.hbm.bandwidth=+20%,compute.units=160; measured rates that a rule ties to a number follow it"};
}

std::vector<OptionSpec> point_options() {
  return {
      {"hardware", "GPU profile id or YAML file (see: tilescope list gpus)", Value::hardware},
      set_option(),
      {"schedule",
       "schedule name or file: " + join(shipped_names(data_directory() / "models" / "schedules"), ", ") +
           " (default flash2)",
       Value::schedule},
      {"kernel", "kernel name or descriptor file: fused_mma, reference, ... (see: tilescope list kernels)",
       Value::kernel},
      {"diagram", "apply the schedule to this diagram, a name in models/diagrams or a file", Value::diagram},
      {"size", "a size that the diagram defines, as in pages=64 or a=1k,b=4k; may be repeated"},
      {"workload", "named shape in models/workloads, or a file", Value::workload},
      {"batch", "batch size (default 1)", Value::count},
      {"heads-q", "query heads (default 1; alias --heads)", Value::count},
      {"heads-kv", "KV heads (default: same as query heads)", Value::count},
      {"q-len", "query length (alias --seqlen); 4k = 4096", Value::count},
      {"kv-len", "key length (default: same as query length)", Value::count},
      {"head-dim", "head dimension of Q and K, and of V unless --v-head-dim (default 64)", Value::count},
      {"v-head-dim", "head dimension of V and O", Value::count},
      {"mask", mask_spellings(false)},
      {"dtype",
       join(dtype_names(), " ") +
           ", short fp8 fp6 fp4 mxfp8 mxfp6; with scales int4:g32:b2:z4:t4 (a scale of 2 bytes and a zero point of 4 "
           "bits for 32 values, a scale of 4 bytes for all), and per array: fp16,kv=int8:g64:b2,o=bf16; keys: q k v kv "
           "o s p, "
           "l (row statistics), acc (accumulators, partial results), do dq dk dv (backward), index (block tables), or "
           "the diagram's"},
      {"tile",
       "tile sizes: q=128,kv=64,warps=4,pack=1 (default: the best tile of a search; sweep: `first` uses the first "
       "point's best tile for all points)"},
      {"splits", "number of parts of the keys, for a schedule that splits them; same as --tile splits=N", Value::count},
      {"pass", "forward or backward; without --schedule or --kernel, backward means flash2-backward", Value::choice,
       kind_names<Pass>()},
      {"l2",
       "model of DRAM bytes: walk (default) sends the loads of all blocks through a model of the L2; closed is a "
       "formula over waves of blocks",
       Value::choice,
       {"walk", "closed"}},
      {"basis",
       "rates of the GPU: stated (default) takes those of its profile and derives the others by rules; derived takes "
       "the "
       "datasheet and the rules alone; compare takes derived rates for all GPUs where stated ones would mix",
       Value::choice, kind_names<RatesFrom>()},
      {"drift", "walk only: a block's steps take up to N percent longer, by a fixed sequence (default 0)",
       Value::count}};
}

std::vector<OptionSpec> compare_options() {
  return point_options() +
         std::vector<OptionSpec>{
             {"sort", "order of the rows: a column, as in microseconds or model_tflops:desc; empty cells come last"},
             {"best", "only the fastest row of each GPU and dtype", Value::flag},
             threads_option()};
}

std::vector<OptionSpec> search_top_options() {
  return {{"top", "how many feasible tiles to print (default 10)", Value::count}, threads_option()};
}

std::vector<OptionSpec> operator+(std::vector<OptionSpec> a, const std::vector<OptionSpec>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void check_choices(const Options& options, const std::vector<OptionSpec>& specs) {
  for (const OptionSpec& spec : specs) {
    if (spec.value != Value::choice) continue;
    const auto value = options.text(spec.name);
    if (!value || contains(spec.choices, *value)) continue;
    std::vector<std::string> first = spec.choices;
    first.pop_back();
    const auto near = nearest(*value, spec.choices);
    refuse("--" + spec.name, fmt::format("expected {} or {}, found '{}'{}", join(first, ", "), spec.choices.back(),
                                         *value, near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }
}

void change_gpus(std::map<std::string, std::vector<std::string>>& values) {
  const auto given = values.extract("set");
  if (!given) return;
  const auto gpus = values.find("hardware");
  if (gpus == values.end())
    refuse("--set", values.contains("axis")
                        ? "changes the GPU of --hardware; of an axis of GPUs as in --axis set.compute.units=160"
                        : "changes a GPU: name it, as in --hardware h200_sxm");
  for (std::string& list : gpus->second) {
    std::vector<std::string> names = split(list, ',');
    for (std::string& name : names) name = changed_name(name, join(given.mapped(), ","));
    list = join(names, ",");
  }
}

Options checked_options(const std::vector<std::pair<std::string, std::string>>& given,
                        const std::vector<OptionSpec>& specs) {
  std::vector<std::string> known;
  for (const OptionSpec& spec : specs) known.push_back(spec.name);
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [spelled, value] : given) {
    std::string name = spelled;
    std::replace(name.begin(), name.end(), '_', '-');
    if (const auto alias = option_aliases().find("--" + name); alias != option_aliases().end())
      name = alias->second.substr(2);
    if (!contains(known, name)) refuse(spelled, fmt::format("no such option{}", did_you_mean(name, known)));
    if (value.empty()) refuse(spelled, "is empty, expected a value");
    values[name].push_back(value);
  }
  change_gpus(values);
  Options options(std::move(values));
  check_choices(options, specs);
  return options;
}

}  // namespace tilescope
