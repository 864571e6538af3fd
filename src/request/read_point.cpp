#include "request/read_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "diagram/block_mask.h"
#include "diagram/tile_limits.h"
#include "hardware/changes.h"
#include "request/workload_file.h"

namespace tilescope {
namespace {

struct ExtentOption {
  const char* name;
  std::vector<Extent> extents;  // the extents of a diagram that the option sets
};
const std::vector<ExtentOption>& extent_options() {
  static const std::vector<ExtentOption> table{{"batch", {Extent::batch}},
                                               {"heads-q", {Extent::heads_kv, Extent::group}},
                                               {"heads-kv", {Extent::heads_kv, Extent::group}},
                                               {"q-len", {Extent::q_len}},
                                               {"kv-len", {Extent::kv_len}},
                                               {"head-dim", {Extent::d_qk, Extent::d_v}},
                                               {"v-head-dim", {Extent::d_v}}};
  return table;
}

bool sized_by(const Diagram& diagram, Extent extent) {
  return std::any_of(diagram.axes.begin(), diagram.axes.end(), [&](const Axis& axis) { return axis.extent == extent; });
}

bool uses(const Diagram& diagram, const ExtentOption& option) {
  return std::any_of(option.extents.begin(), option.extents.end(),
                     [&](Extent extent) { return sized_by(diagram, extent); });
}

// "--q-len, --head-dim, --size pages": what sets the sizes of a diagram.
std::string size_options(const Diagram& diagram) {
  std::vector<std::string> options;
  for (const ExtentOption& option : extent_options())
    if (uses(diagram, option)) options.push_back(std::string("--") + option.name);
  for (const Axis& axis : diagram.axes)
    if (const std::string own = "--size " + axis.size; !axis.extent && !axis.chunks_of && !contains(options, own))
      options.push_back(own);
  return join(options, ", ");
}

// The default sizes, and those that the diagram states, such as one latent for all heads.
Workload usual_workload(const Diagram& diagram) {
  Workload workload;
  const auto take = [&](Extent extent, std::int64_t& size) {
    if (const std::int64_t usual = usual_size(diagram, extent); usual > 0) size = usual;
  };
  take(Extent::batch, workload.batch), take(Extent::heads_kv, workload.heads_kv);
  take(Extent::q_len, workload.q_len), take(Extent::kv_len, workload.kv_len);
  take(Extent::d_qk, workload.d_qk), take(Extent::d_v, workload.d_v);
  workload.heads_q = workload.heads_kv;
  return workload;
}

Workload read_workload(const Options& options, const Diagram& diagram) {
  refuse_idle_sizes(options, diagram);
  Workload workload = usual_workload(diagram);
  const bool named = options.has("workload");
  const auto follows = [&](Extent extent) { return usual_size(diagram, extent) == 0; };
  if (named) workload = find_workload(*options.text("workload"), data_directory() / "models");
  const auto extent = [&](const char* name) { return options.integer(name, 1, largest_extent); };
  if (const auto batch = extent("batch")) workload.batch = *batch;
  if (const auto heads = extent("heads-q"))
    workload.heads_q = *heads, workload.heads_kv = named || !follows(Extent::heads_kv) ? workload.heads_kv : *heads;
  if (const auto heads = extent("heads-kv")) workload.heads_kv = *heads;
  if (const auto length = extent("q-len"))
    workload.q_len = *length, workload.kv_len = named || !follows(Extent::kv_len) ? workload.kv_len : *length;
  if (const auto length = extent("kv-len")) workload.kv_len = *length;
  if (const auto dim = extent("head-dim"))
    workload.d_qk = *dim, workload.d_v = follows(Extent::d_v) ? *dim : workload.d_v;
  if (const auto dim = extent("v-head-dim")) workload.d_v = *dim;
  if (!named && !options.has("q-len") && sized_by(diagram, Extent::q_len))
    refuse("--q-len", "is missing: give --q-len (and --kv-len, --heads-q, --head-dim, ...) or --workload");
  const std::vector<std::string> violations = workload.violations();
  std::vector<Diagnostic> diagnostics;
  for (const std::string& violation : violations) diagnostics.push_back({.path = "workload", .message = violation});
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
  return workload;
}

Mask read_mask(const Options& options, const Workload& workload, const Diagram& diagram) {
  const std::string text = options.text("mask").value_or("none");
  if (text != "none" && !diagram.guard)
    refuse("--mask", fmt::format("diagram '{}' has no queries and keys to mask, found '{}'", diagram.name, text));
  if (const auto mask = load_mask(text, "", guarded_lengths(diagram, workload))) return *mask;
  std::vector<std::string> kinds;
  for (const MaskKindRow& row : EnumTable<MaskKind>::rows) kinds.emplace_back(row.spelling);
  refuse("--mask", fmt::format("expected {}, found '{}'{}", mask_spellings(), text,
                               nearest(text, kinds) ? did_you_mean(text, kinds) : ""));
}

// "q=128,kv=64,warps=4"
void apply_tile(Point& point, const Plan& plan, const std::string& text) {
  std::vector<std::string> names{"warps", "stages"};
  for (const Parameter& parameter : plan.schedule.parameters) names.push_back(parameter.name);
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    if (!seen.insert(name).second) refuse("--tile", fmt::format("'{}' is given twice in '{}'", name, text));
    const auto value = equals == std::string::npos ? std::nullopt : parse_count(part.substr(equals + 1));
    if (!value)
      refuse("--tile",
             fmt::format("expected NAME=SIZE[,NAME=SIZE...] with positive sizes, as in q=128,kv=64, found '{}'", part));
    if (const auto problem = tile_problem(name, *value, 1)) refuse("--tile", name + " " + *problem);
    const int parameter = plan.schedule.find_parameter(name);
    if (name == "warps") point.warps = *value;
    else if (name == "stages") point.stages = *value;
    else if (parameter >= 0) point.tiles[static_cast<std::size_t>(parameter)] = *value;
    else
      refuse("--tile",
             fmt::format("schedule '{}' has no tile '{}'{}", plan.schedule.name, name, did_you_mean(name, names)));
  }
}

// --splits N sets the tile `splits`. Without --tile the search still chooses the other tiles.
void apply_splits(Point& point, const Plan& plan, const Options& options) {
  const auto splits = options.integer("splits", 1, largest_extent);
  if (!splits) return;
  const int parameter = plan.schedule.find_parameter("splits");
  if (parameter < 0)
    refuse("--splits",
           fmt::format("schedule '{}' does not split an axis; choose one that does, as in --schedule split-kv",
                       plan.schedule.name));
  for (const std::string& part : split(options.text("tile").value_or(""), ','))
    if (part.starts_with("splits=")) refuse("--splits", "'splits' is given twice, here and in --tile");
  point.tiles[static_cast<std::size_t>(parameter)] = *splits;
}

// The L2 model: the walk, unless --l2 closed is given.
void apply_l2(Point& point, const Options& options) {
  point.l2 = parse_kind<L2Model>(options.text("l2").value_or("")).value_or(L2Model::walk);
  const auto drift = options.integer("drift", 0, 100);
  if (drift && point.l2 == L2Model::closed)
    refuse("--drift", "applies to --l2 walk only, found --l2 closed; leave out one of them");
  point.drift = static_cast<double>(drift.value_or(0)) / 100;
}

}  // namespace

void refuse_idle_sizes(const Options& options, const Diagram& diagram) {
  const std::vector<ExtentOption>& known = extent_options();
  for (const ExtentOption& option : known)
    if (options.has(option.name) && !uses(diagram, option))
      refuse(std::string("--") + option.name,
             fmt::format("diagram '{}' has no axis of that size; its sizes: {}", diagram.name, size_options(diagram)));
  const bool takes_workload =
      std::any_of(known.begin(), known.end(), [&](const ExtentOption& option) { return uses(diagram, option); });
  if (options.has("workload") && !takes_workload)
    refuse("--workload", fmt::format("diagram '{}' has no size that a workload gives; its sizes: {}", diagram.name,
                                     size_options(diagram)));
}

Mask mask_of(const Options& options, const Workload& workload, const Diagram& diagram) {
  return read_mask(options, workload, diagram);
}

HardwareProfile read_hardware(const Options& options) {
  const auto name = options.text("hardware");
  if (!name) refuse("--hardware", "is missing: give a GPU, as in --hardware h200_sxm; see tilescope hardware list");
  if (contains(name_and_changes(*name).first, ','))
    refuse("--hardware", fmt::format("expected one GPU, found '{}'; compare takes several, and sweep as in "
                                     "--axis hardware=h100_sxm,h200_sxm",
                                     *name));
  return ProfileCatalogue(data_directory() / "hardware").find(*name, rates_from(options).value_or(RatesFrom::stated));
}

std::optional<RatesFrom> rates_from(const Options& options) {
  const auto text = options.text("basis");
  return text ? parse_kind<RatesFrom>(*text) : std::nullopt;
}

namespace {

// Lists the formats even where one of them is near.
std::string unknown_format(const std::string& name) {
  const std::vector<std::string> names = dtype_names();
  const std::string known = "known: " + join(names, ", "), hint = did_you_mean(name, names);
  return fmt::format("expected a format, or one with scales as in int8:g64:b2, found '{}'{}", name,
                     hint.ends_with(known) ? hint : hint + " " + known);
}

// "kv=int8" or "fp16", whose key is empty: of all arrays.
struct StatedFormat {
  std::string key, name;
  std::optional<Dtype> dtype;  // nullopt: no format has the name
};

StatedFormat stated_format(const std::string& part) {
  const std::size_t equals = part.find('=');
  if (equals == 0) refuse("--dtype", fmt::format("expected ARRAY=FORMAT, as in kv=int8, found '{}'", part));
  StatedFormat stated{.key = "", .name = part, .dtype = {}};
  if (equals != std::string::npos) stated.key = part.substr(0, equals), stated.name = part.substr(equals + 1);
  stated.dtype = parse_dtype(stated.name);
  return stated;
}

// The format of all arrays first, wherever it is written.
std::vector<StatedFormat> stated_formats(std::string text) {
  std::replace(text.begin(), text.end(), ';', ',');  // as CSV prints them
  std::vector<StatedFormat> formats;
  for (const std::string& part : split(text, ',')) formats.push_back(stated_format(part));
  std::stable_partition(formats.begin(), formats.end(), [](const StatedFormat& each) { return each.key.empty(); });
  return formats;
}

}  // namespace

void refuse_unknown_formats(const std::string& dtypes) {
  for (const std::string& part : split(dtypes, ','))
    if (const StatedFormat stated = stated_format(part); !stated.dtype) refuse("--dtype", unknown_format(stated.name));
}

void apply_dtypes(Point& point, const Plan& plan, const std::string& text) {
  const std::vector<StatedFormat> formats = stated_formats(text);
  std::set<std::string> seen;
  for (const auto& [key, name, dtype] : formats) {
    if (!seen.insert(key).second)
      refuse("--dtype", key.empty() ? fmt::format("more than one format for all arrays in '{}'", text)
                                    : fmt::format("'{}' is given twice in '{}'", key, text));
    if (seen.contains("kv") && (seen.contains("k") || seen.contains("v")))
      refuse("--dtype", fmt::format("'kv' and '{}' both give a format in '{}'; give k and v",
                                    seen.contains("k") ? "k" : "v", text));
    if (!dtype) refuse("--dtype", unknown_format(name));
    if (!set_dtype(point, plan.schedule.diagram, key, *dtype)) {
      std::vector<std::string> keys = dtype_keys(plan.schedule.diagram);
      if (contains(keys, "k")) keys.insert(keys.begin(), "kv");
      refuse("--dtype", fmt::format("no array takes the key '{}'{}", key, did_you_mean(key, keys)));
    }
  }
}

void default_tile(Point& point, const Plan& plan) {
  for (const KernelVariant& variant : plan.kernel.variants) {
    if (!serves(plan, point, variant)) continue;
    take_variant(point, plan.schedule, variant);
    return;
  }
}

bool tile_given(const Options& options) { return options.has("tile") && options.text("tile") != "first"; }

SearchOptions search_options(const Options& options, const Plan& plan) {
  SearchOptions search;
  if (const int splits = plan.schedule.find_parameter("splits"); splits >= 0 && options.has("splits"))
    search.fixed.push_back(splits);
  if (!tile_given(options)) return search;
  for (const std::string& part : split(options.text("tile").value_or(""), ',')) {
    const std::string name = part.substr(0, part.find('='));
    if (name == "warps") search.keep_warps = true;
    else if (name == "stages") search.keep_stages = true;
    else if (const int position = plan.schedule.find_parameter(name); position >= 0) search.fixed.push_back(position);
  }
  return search;
}

Point read_point(const Options& options, const Plan& plan) {
  Point point = default_point(plan);
  point.workload = read_workload(options, plan.schedule.diagram);
  point.mask = read_mask(options, point.workload, plan.schedule.diagram);
  if (!plan.kernel.formats.empty()) set_formats(point, plan.schedule.diagram, plan.kernel.formats.front());
  if (const auto dtypes = options.text("dtype")) apply_dtypes(point, plan, *dtypes);
  default_tile(point, plan);
  if (const auto tile = options.text("tile")) apply_tile(point, plan, *tile);
  apply_splits(point, plan, options);
  apply_l2(point, options);
  return point;
}

}  // namespace tilescope
