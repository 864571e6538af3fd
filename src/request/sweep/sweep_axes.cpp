#include "request/sweep/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/explain/labels.h"
#include "request/sweep/choice_axes.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_warps = 64;

struct NamedExtent {
  const char* name;    // name of the axis
  const char* option;  // name of the option that gives the same size
  std::int64_t Workload::*extent;
};
constexpr std::array<NamedExtent, 7> named_extents{{{"batch", "batch", &Workload::batch},
                                                    {"heads_q", "heads-q", &Workload::heads_q},
                                                    {"heads_kv", "heads-kv", &Workload::heads_kv},
                                                    {"q_len", "q-len", &Workload::q_len},
                                                    {"kv_len", "kv-len", &Workload::kv_len},
                                                    {"head_dim", "head-dim", &Workload::d_qk},
                                                    {"v_head_dim", "v-head-dim", &Workload::d_v}}};

const NamedExtent& named(std::int64_t Workload::*extent) {
  return *std::find_if(named_extents.begin(), named_extents.end(),
                       [&](const NamedExtent& known) { return known.extent == extent; });
}

// A size that takes the value of another size unless it is given.
struct Follower {
  std::int64_t Workload::*leader, Workload::*follower;
  bool workload_gives_it;  // --workload gives the follower
  Extent extent;           // extent of the follower; a diagram may state its size
};
constexpr std::array<Follower, 3> followers{{{&Workload::heads_q, &Workload::heads_kv, true, Extent::heads_kv},
                                             {&Workload::q_len, &Workload::kv_len, true, Extent::kv_len},
                                             {&Workload::d_qk, &Workload::d_v, false, Extent::d_v}}};

bool sets(const SweepAxis& axis, std::int64_t Workload::*extent) { return contains(axis.extents, extent); }

SweepAxis parse_axis(const std::string& text, const Plan& plan, bool many) {
  const std::vector<std::string> tiles = tile_columns(plan);  // the parameters in order, then warps
  std::vector<std::string> names;
  for (const NamedExtent& known : named_extents) names.emplace_back(known.name);
  names.emplace_back("seqlen");
  names.insert(names.end(), tiles.begin(), tiles.end());
  names.emplace_back("stages");
  const std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  std::replace(name.begin(), name.end(), '-', '_');
  if (name == "splits") name = "tile_splits";
  if (equals == std::string::npos)
    refuse("--axis", fmt::format("expected NAME=VALUES, as in q_len=1k:128k:x2, found '{}'", text));
  if (!contains(names, name)) {
    for (const std::string& choice : choice_axis_names()) names.push_back(choice);
    refuse("--axis", fmt::format("unknown axis '{}'{}", name, did_you_mean(name, names)));
  }
  SweepAxis axis{.name = name, .values = AxisValues::parse(text.substr(equals + 1), many)};
  for (const NamedExtent& known : named_extents)
    if (name == known.name) axis.extents.push_back(known.extent);
  if (name == "seqlen") axis.extents = {&Workload::q_len, &Workload::kv_len};
  if (const auto tile = std::find(tiles.begin(), tiles.end() - 1, name); tile != tiles.end() - 1)
    axis.tile = static_cast<int>(tile - tiles.begin());
  axis.warps = name == tiles.back(), axis.stages = name == "stages";
  if ((axis.warps || axis.stages) && axis.values.largest() > most_warps)
    refuse("--axis", fmt::format("{} must be from 1 to {}, found {}", name, most_warps, axis.values.largest()));
  return axis;
}

// Two axes over the same size would leave one without effect.
void refuse_overlap(const std::vector<SweepAxis>& axes, const SweepAxis& axis) {
  for (const SweepAxis& other : axes) {
    if (other.name == axis.name)
      refuse("--axis", fmt::format("axes '{0}' and '{0}' both set {0}; give one", axis.name));
    for (const auto extent : other.extents)
      if (sets(axis, extent))
        refuse("--axis",
               fmt::format("axes '{}' and '{}' both set {}; give one", other.name, axis.name, named(extent).name));
  }
}

// Names that --tile gives: "q", "warps".
std::vector<std::string> names_in_tile(const Options& options) {
  std::vector<std::string> names;
  for (const std::string& part : split(options.text("tile").value_or(""), ','))
    names.push_back(part.substr(0, part.find('=')));
  return names;
}

// What an option and an axis both set would be without effect where the option states it.
void refuse_option_of_axis(const SweepAxis& axis, const Options& options, const Plan& plan) {
  const auto refuse_both = [&](const std::string& option, const std::string& what) {
    refuse("--axis", fmt::format("'{}' and {} both set {}; leave out one of them", axis.name, option, what));
  };
  for (const auto extent : axis.extents)
    if (options.has(named(extent).option))
      refuse_both(std::string("--") + named(extent).option + " " + *options.text(named(extent).option),
                  named(extent).name);
  std::string tile = axis.warps ? "warps" : axis.stages ? "stages" : "";
  if (axis.tile >= 0) tile = plan.schedule.parameters[static_cast<std::size_t>(axis.tile)].name;
  if (tile == "splits" && options.has("splits")) refuse_both("--splits " + *options.text("splits"), tile);
  if (!tile.empty() && contains(names_in_tile(options), tile)) refuse_both("--tile " + *options.text("tile"), tile);
}

void add_followers(std::vector<SweepAxis>& axes, const Options& options, const Diagram& diagram) {
  for (const Follower& pair : followers) {
    if (options.has(named(pair.follower).option) || (pair.workload_gives_it && options.has("workload")) ||
        usual_size(diagram, pair.extent) > 0)
      continue;
    if (std::any_of(axes.begin(), axes.end(), [&](const SweepAxis& axis) { return sets(axis, pair.follower); }))
      continue;
    for (SweepAxis& axis : axes)
      if (sets(axis, pair.leader)) axis.extents.push_back(pair.follower);
  }
}

}  // namespace

std::vector<SweepAxis> read_axes(const Options& options, const Plan& plan) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : options.all("axis")) {
    SweepAxis axis = parse_axis(text, plan, options.has("yes"));
    refuse_overlap(axes, axis);
    if (axis.name == "seqlen" && options.has("kv-len"))
      refuse("--axis", "'seqlen' sets kv_len, which --kv-len holds fixed; sweep q_len instead or leave out --kv-len");
    refuse_option_of_axis(axis, options, plan);
    axes.push_back(std::move(axis));
  }
  add_followers(axes, options, plan.schedule.diagram);
  const std::string mask = options.text("mask").value_or("");
  for (const SweepAxis& axis : axes)
    if (mask_file(mask) && (sets(axis, &Workload::q_len) || sets(axis, &Workload::kv_len)))
      refuse(
          "--axis",
          fmt::format("'{}' changes the lengths, and mask '{}' is drawn for one q_len and kv_len; sweep another axis "
                      "or use another mask",
                      axis.name, mask));
  return axes;
}

std::vector<std::pair<std::string, std::string>> options_of_first_values(const std::vector<SweepAxis>& axes,
                                                                         const Options& options) {
  std::vector<std::pair<std::string, std::string>> added;
  for (const SweepAxis& axis : axes)
    if (!axis.extents.empty() && !options.has(named(axis.extents.front()).option))
      added.emplace_back(named(axis.extents.front()).option, std::to_string(axis.values[0]));
  return added;
}

void set_point(Point& point, const Point& base, const Plan& plan, const std::vector<SweepAxis>& axes,
               const std::vector<std::size_t>& at, bool tile_fixed) {
  point.workload = base.workload;
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const auto extent : axes[i].extents) point.workload.*extent = axes[i].values[at[i]];
  point.tiles = base.tiles;
  point.warps = base.warps, point.stages = base.stages;
  if (!tile_fixed) default_tile(point, plan);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].tile >= 0) point.tiles[static_cast<std::size_t>(axes[i].tile)] = axes[i].values[at[i]];
    if (axes[i].warps) point.warps = axes[i].values[at[i]];
    if (axes[i].stages) point.stages = axes[i].values[at[i]];
  }
}

std::string place(const std::vector<SweepAxis>& axes, const std::vector<std::size_t>& at) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < axes.size(); ++i)
    parts.push_back(fmt::format("{}={}", axes[i].name, axes[i].values[at[i]]));
  return join(parts, ", ");
}

}  // namespace tilescope
