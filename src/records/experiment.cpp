#include "records/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/level.h"
#include "config/reader.h"
#include "diagram/mask.h"
#include "diagram/tile_limits.h"
#include "diagram/workload.h"

namespace tilescope::validate {
namespace {

constexpr std::size_t most_points = 100000;

struct Tile {
  std::int64_t q = 0, kv = 0, warps = 0, stages = 0;
};

std::vector<std::int64_t> integers(const Node& node, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> values;
  for (const Node& item : node.items()) values.push_back(item.count(least, most));
  if (node.is_list() && values.empty()) node.report("is an empty list; give at least one value");
  return values;
}

std::vector<std::string> choices(const Node& node, const std::vector<std::string>& allowed) {
  std::vector<std::string> values;
  for (const Node& item : node.items()) values.push_back(item.one_of(allowed));
  if (node.is_list() && values.empty()) node.report("is an empty list; give at least one value");
  return values;
}

std::vector<Tile> read_tiles(const Node& entry) {
  const std::optional<Node> node = entry.find("tiles");
  if (!node) return {Tile{}};  // the kernel's only tiling
  std::vector<Tile> tiles;
  for (const Node& item : node->items()) {
    item.only({"q", "kv", "warps", "stages"});
    tiles.push_back({item["q"].count(1, largest_extent), item["kv"].count(1, largest_extent),
                     item["warps"].integer(1, largest_warps)});
    if (const auto stages = item.find("stages")) tiles.back().stages = stages->integer(1, largest_warps);
  }
  if (node->is_list() && tiles.empty()) node->report("is an empty list; leave it out for a kernel without tiles");
  return tiles;
}

// The lists of one entry of `points`; empty optional lists follow their counterpart element by element.
struct Grid {
  std::string kernel;
  std::vector<Tile> tiles;
  std::vector<std::string> dtypes, masks;
  std::vector<std::int64_t> batch, heads_q, heads_kv, q_len, kv_len, head_dim, v_head_dim;
  std::vector<std::int64_t> splits = {0};
  std::map<std::string, Dtype> own_dtypes;
};

std::vector<std::string> read_masks(const Node& node) {
  std::vector<std::string> masks;
  for (const Node& item : node.items()) {
    masks.push_back(item.text());
    if (!masks.back().empty() && !mask_kind(masks.back()))
      item.report(fmt::format("expected {}, found '{}'", mask_spellings(), masks.back()));
  }
  if (node.is_list() && masks.empty()) node.report("is an empty list; give at least one value");
  return masks;
}

std::map<std::string, Dtype> read_own_dtypes(const Node& node) {
  std::map<std::string, Dtype> dtypes;
  for (const auto& [key, value] : node.entries()) {
    const std::string text = value.text();
    if (const auto dtype = parse_dtype(text)) dtypes[key] = *dtype;
    else if (!text.empty())
      value.report(fmt::format("'{}' is not a dtype; known: {}", text, fmt::join(dtype_names(), ", ")));
  }
  return dtypes;
}

Grid read_grid(const Node& entry) {
  entry.only({"kernel", "tiles", "dtype", "batch", "heads_q", "heads_kv", "q_len", "kv_len", "head_dim", "v_head_dim",
              "mask", "dtypes", "splits"});
  Grid grid;
  grid.kernel = entry["kernel"].text();
  grid.tiles = read_tiles(entry);
  grid.dtypes = choices(entry["dtype"], {"fp16", "bf16", "fp32"});
  grid.masks = read_masks(entry["mask"]);
  grid.batch = integers(entry["batch"], 1, largest_extent);
  grid.heads_q = integers(entry["heads_q"], 1, largest_extent);
  grid.q_len = integers(entry["q_len"], 1, largest_extent);
  grid.head_dim = integers(entry["head_dim"], 1, largest_extent);
  if (const auto node = entry.find("heads_kv")) grid.heads_kv = integers(*node, 1, largest_extent);
  if (const auto node = entry.find("kv_len")) grid.kv_len = integers(*node, 1, largest_extent);
  if (const auto node = entry.find("v_head_dim")) grid.v_head_dim = integers(*node, 1, largest_extent);
  if (const auto node = entry.find("splits")) grid.splits = integers(*node, 1, largest_extent);
  if (const auto node = entry.find("dtypes")) grid.own_dtypes = read_own_dtypes(*node);
  return grid;
}

// Every (first, second) pair; with no list of its own `second` equals `first`.
std::vector<std::pair<std::int64_t, std::int64_t>> crossed(const std::vector<std::int64_t>& first,
                                                           const std::vector<std::int64_t>& second) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const std::int64_t a : first) {
    if (second.empty()) pairs.emplace_back(a, a);
    for (const std::int64_t b : second) pairs.emplace_back(a, b);
  }
  return pairs;
}

// The points of a grid, the last lists varying fastest.
std::vector<MeasurePoint> expand(const Grid& grid) {
  std::vector<MeasurePoint> points;
  const auto lengths = crossed(grid.q_len, grid.kv_len);
  const auto heads = crossed(grid.heads_q, grid.heads_kv);
  const auto depths = crossed(grid.head_dim, grid.v_head_dim);
  for (const Tile& tile : grid.tiles)
    for (const std::string& dtype : grid.dtypes)
      for (const auto& [head_dim, v_head_dim] : depths)
        for (const std::int64_t batch : grid.batch)
          for (const auto& [heads_q, heads_kv] : heads)
            for (const auto& [q_len, kv_len] : lengths)
              for (const std::string& mask : grid.masks)
                for (const std::int64_t splits : grid.splits) {
                  if (points.size() > most_points) return points;
                  const std::optional<Dtype> parsed = parse_dtype(dtype);
                  points.push_back({.kernel = grid.kernel,
                                    .mask = mask,
                                    .workload = {batch, heads_q, heads_kv, q_len, kv_len, head_dim, v_head_dim},
                                    .dtype = parsed ? parsed->format : Format::fp16,
                                    .dtypes = grid.own_dtypes,
                                    .tile_q = tile.q,
                                    .tile_kv = tile.kv,
                                    .warps = tile.warps,
                                    .stages = tile.stages,
                                    .splits = splits});
                }
  return points;
}

void read_points(const Document& document, const Node& list, Experiment& experiment) {
  std::set<std::string> seen;
  for (const Node& entry : list.items()) {
    const Grid grid = read_grid(entry);
    if (!document.clean()) continue;  // values may be placeholders
    for (const MeasurePoint& point : expand(grid)) {
      const std::string id = point_id(point);
      const std::vector<PointProblem> problems = problems_of(point);
      for (const PointProblem& problem : problems)
        entry.report(problem.key == "workload" ? problem.message : problem.key + ": " + problem.message);
      if (!problems.empty()) break;
      if (!seen.insert(id).second) {
        entry.report(fmt::format("point {} is listed twice; remove one", id));
        break;
      }
      experiment.points.push_back(point);
    }
    if (experiment.points.size() > most_points) {
      entry.report(fmt::format("the experiment has more than {} points; split it", most_points));
      return;
    }
  }
  if (document.clean() && experiment.points.empty()) list.report("has no point; list at least one");
}

ToleranceCondition read_condition(const Node& node) {
  node.only({"mask", "dtype", "head_dim", "q_len_min", "q_len_max", "kv_len_min", "kv_len_max", "spills", "kv_in_l2"});
  const auto length = [&](std::string_view key) -> std::optional<std::int64_t> {
    const auto found = node.find(key);
    return found ? std::optional(found->count(1, largest_extent)) : std::nullopt;
  };
  const auto flag = [&](std::string_view key) -> std::optional<bool> {
    const auto found = node.find(key);
    return found ? std::optional(found->boolean()) : std::nullopt;
  };
  ToleranceCondition when;
  if (const auto found = node.find("mask")) when.mask = found->one_of(kind_names<MaskKind>());
  if (const auto found = node.find("dtype")) when.dtype = found->one_of({"fp16", "bf16", "fp32"});
  when.head_dim = length("head_dim");
  when.q_len_min = length("q_len_min");
  when.q_len_max = length("q_len_max");
  when.kv_len_min = length("kv_len_min");
  when.kv_len_max = length("kv_len_max");
  when.spills = flag("spills");
  when.kv_in_l2 = flag("kv_in_l2");
  return when;
}

// A plain number in the quantity's unit, or one with its unit: "128 KiB", "2 us".
double read_slack(const Node& node, const std::string& quantity) {
  const std::string text = node.is_scalar() ? node.text() : "";
  const bool bytes = quantity.find("traffic") != std::string::npos || quantity == "operand_bytes";
  const bool seconds = quantity.starts_with("seconds");
  if (text.find(' ') == std::string::npos || (!bytes && !seconds)) return node.number(0, 1e15);
  return node.quantity(bytes ? Dimension::bytes : Dimension::seconds);
}

Tolerance read_tolerance(const Node& entry) {
  entry.only({"quantity", "kernel", "level", "direction", "when", "tolerance", "slack", "reason"});
  Tolerance tolerance;
  tolerance.quantity = entry["quantity"].text();
  if (const auto node = entry.find("kernel")) tolerance.kernel = node->text();
  if (const auto node = entry.find("level"))
    tolerance.level = node->one_of(kind_names<LevelId>([](const LevelRow& row) { return row.counted; }));
  if (const auto node = entry.find("direction")) tolerance.direction = node->one_of({"read", "write"});
  if (const auto node = entry.find("when")) tolerance.when = read_condition(*node);
  const Node bound = entry["tolerance"];
  if (!bound.is_scalar() || bound.text() != "report") tolerance.tolerance = bound.number(0, 100);
  if (const auto node = entry.find("slack")) tolerance.slack = read_slack(*node, tolerance.quantity);
  tolerance.reason = entry["reason"].text();
  return tolerance;
}

Experiment read(const Document& document, const std::string& file) {
  document.expect_schema(experiment_schema);
  const Node root = document.root();
  root.only({"schema", "name", "hardware", "repeats", "blind", "points", "tolerances"});
  Experiment experiment;
  experiment.file = file;
  experiment.name = root["name"].text();
  if (experiment.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos) {
    root["name"].report(
        "may have lower-case letters, digits, '_' and '-' only: records are kept in a folder of that name");
  }
  experiment.hardware = root["hardware"].text();
  if (const auto repeats = root.find("repeats")) {
    repeats->only({"cold", "steady"});
    if (const auto node = repeats->find("cold")) experiment.cold_repeats = static_cast<int>(node->integer(1, 1000));
    if (const auto node = repeats->find("steady")) experiment.steady_repeats = static_cast<int>(node->integer(1, 1000));
  }
  if (const auto blind = root.find("blind")) experiment.blind = blind->boolean();
  // Tolerances alone judge records of other tools.
  if (root.find("points") || !root.find("tolerances")) read_points(document, root["points"], experiment);
  if (const auto list = root.find("tolerances")) {
    for (const Node& entry : list->items()) experiment.tolerances.push_back(read_tolerance(entry));
  }
  document.finish();
  return experiment;
}

template <class T, class U>
bool allows(const std::optional<T>& wanted, const U& actual) {
  return !wanted || *wanted == actual;
}

bool within(const std::optional<std::int64_t>& least, const std::optional<std::int64_t>& most, std::int64_t value) {
  return (!least || value >= *least) && (!most || value <= *most);
}

bool matches(const Tolerance& tolerance, const ToleranceQuery& query) {
  const PointWorkload& workload = query.point.workload;
  const ToleranceCondition& when = tolerance.when;
  return tolerance.quantity == query.quantity && allows(tolerance.kernel, query.point.kernel) &&
         allows(tolerance.level, query.level) && allows(tolerance.direction, query.direction) &&
         allows(when.mask, query.point.mask.substr(0, query.point.mask.find(':'))) &&
         allows(when.dtype, to_string(query.point.dtype)) && allows(when.head_dim, workload.d_qk) &&
         within(when.q_len_min, when.q_len_max, workload.q_len) &&
         within(when.kv_len_min, when.kv_len_max, workload.kv_len) && allows(when.spills, query.spills) &&
         allows(when.kv_in_l2, query.kv_in_l2);
}

}  // namespace

Experiment load_experiment(const std::filesystem::path& file) { return read(Document::load(file), file.string()); }

Experiment parse_experiment(std::string_view text, const std::string& file_name) {
  return read(Document::parse(text, file_name), file_name);
}

const Tolerance* find_tolerance(const Experiment& experiment, const ToleranceQuery& query) {
  for (const Tolerance& tolerance : experiment.tolerances) {
    if (matches(tolerance, query)) return &tolerance;
  }
  return nullptr;
}

}  // namespace tilescope::validate
