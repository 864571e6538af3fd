// Compares the shipped schedules with every row of validate/oracles/byte_oracles.csv. Its numbers come from an
// independent walk over loop nests (validate/oracles/README.md).
#include <doctest/doctest.h>

#include <charconv>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "cost/transfer.h"
#include "predict/predict.h"

namespace tilescope::oracle_test {
namespace {

struct OracleRow {
  std::map<std::string, std::string> cells;
  std::map<std::string, std::string> tokens;  // from the column `derivation`
  std::int64_t number(const std::string& column) const { return std::stoll(cells.at(column)); }
  std::int64_t token(const std::string& name, std::int64_t otherwise) const {
    const auto found = tokens.find(name);
    return found == tokens.end() ? otherwise : std::stoll(found->second);
  }
};

std::vector<OracleRow> read_oracles() {
  const std::string text = read_file(std::string(TILESCOPE_SOURCE_DIR) + "/validate/oracles/byte_oracles.csv");
  std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> header = split(trimmed(lines.front()), ',');
  std::vector<OracleRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    const std::vector<std::string> cells = split(trimmed(lines[i]), ',');
    REQUIRE(cells.size() == header.size());
    OracleRow row;
    for (std::size_t c = 0; c < cells.size(); ++c) row.cells[header[c]] = cells[c];
    for (const std::string& token : split(row.cells["derivation"], ';'))
      if (const auto equals = token.find('='); equals != std::string::npos)
        row.tokens[std::string(trimmed(token.substr(0, equals)))] = token.substr(equals + 1);
    rows.push_back(std::move(row));
  }
  return rows;
}

Mask oracle_mask(const OracleRow& row) {
  const std::string text = row.cells.at("mask");
  if (const auto mask = parse_mask(text)) return *mask;
  Mask mask{.kind = MaskKind::blocks, .text = text};
  auto blocks = std::make_shared<Mask::Blocks>();
  blocks->block_q = row.number("tile_q"), blocks->block_kv = row.number("tile_kv");
  for (const std::string& line : split(text.substr(std::string("blocks:").size()), '/')) {
    std::vector<bool> live;
    for (const char c : line) live.push_back(c == '1');
    blocks->live.push_back(live);
  }
  mask.blocks = blocks;
  return mask;
}

Dtype of_width(const std::string& bytes) {
  static const std::map<std::string, Format> formats{
      {"0.5", Format::int4}, {"1", Format::fp8_e4m3}, {"2", Format::fp16}, {"4", Format::fp32}};
  return Dtype{formats.at(bytes)};
}

Point oracle_point(const Plan& plan, const OracleRow& row) {
  const Schedule& schedule = plan.schedule;
  Point point = default_point(plan);
  point.workload = {row.number("batch"),  row.number("heads_q"), row.number("heads_kv"), row.number("q_len"),
                    row.number("kv_len"), row.number("d_qk"),    row.number("d_v")};
  point.mask = oracle_mask(row);
  set_dtype(point, schedule.diagram, "", of_width(row.cells.at("dtype_bytes")));
  for (const char* array : {"K", "V", "O"})
    if (const auto width = row.tokens.find(std::string("b_") + array); width != row.tokens.end()) {
      Dtype dtype = of_width(width->second);
      if (*array != 'O' && row.tokens.contains("scale_group")) {
        dtype.scale_group = std::stoll(row.tokens.at("scale_group"));
        dtype.scale_bytes = row.token("b_scale", 0);
      }
      set_dtype(point, schedule.diagram, std::string(1, static_cast<char>(*array - 'A' + 'a')), dtype);
    }
  const auto set = [&](const char* name, std::int64_t value) {
    if (const int parameter = schedule.find_parameter(name); parameter >= 0)
      point.tiles[static_cast<std::size_t>(parameter)] = value;
  };
  set("q", row.number("tile_q")), set("kv", row.number("tile_kv")), set("pack", row.token("g_r", row.token("g_h", 1)));
  set("splits", row.token("splits", 1));
  return point;
}

bool has_token(const OracleRow& row, const char* name) { return row.tokens.contains(name); }
bool remarks(const OracleRow& row, const char* text) {
  return row.cells.at("derivation").find(text) != std::string::npos;
}

// The schedule, the diagram and the kernel that a row is about.
struct Recipe {
  std::string schedule, diagram{}, island{};
};

Recipe recipe_of(const OracleRow& row) {
  const std::string& pass = row.cells.at("pass");
  if (pass == "fwd_partial" || pass == "fwd_combine") return {"split-kv", "", pass.substr(4)};
  if (pass.starts_with("fwd_")) return {"standard", "", pass.substr(4)};
  if (pass == "bwd_dkv" || pass == "bwd_dq") return {"flash2-backward-split", "", pass.substr(4)};
  if (pass == "bwd_dq_convert") return {"flash2-backward", "", "convert"};
  if (pass == "bwd_main" && remarks(row, "FA-1")) return {"flash1-backward", "", "backward"};
  if (pass.starts_with("bwd_")) return {"flash2-backward", "", pass.substr(4)};
  if (has_token(row, "init")) return {row.tokens.at("init") == "hbm" ? "flash1-printed" : "flash1"};
  if (has_token(row, "mla")) return {"flash2", "mla_" + row.tokens.at("mla")};
  return {"flash2", has_token(row, "page") ? "attention_paged" : ""};
}

Plan plan_of(const OracleRow& row) {
  const Recipe recipe = recipe_of(row);
  Plan plan = load_plan_for_schedule(recipe.schedule, TILESCOPE_SOURCE_DIR, recipe.diagram);
  Schedule& schedule = plan.schedule;
  plan.kernel.islands[0].writes_masked_rows = false;  // the oracle's walk omits rows that see no key
  if (has_token(row, "alias") && row.tokens.at("alias") == "0")
    for (Array& array : schedule.diagram.arrays) array.alias_of.reset();
  for (const char* size : {"d_nope", "d_rope"})
    if (has_token(row, size)) set_size(schedule.diagram, size, row.token(size, 0));
  if (has_token(row, "page")) set_size(schedule.diagram, "pages", ceil_div(row.number("kv_len"), row.token("page", 1)));
  if (has_token(row, "dq")) {
    Stored& accumulator = schedule.islands[static_cast<std::size_t>(schedule.find_island("main"))].stored_as.front();
    if (remarks(row, "dq=rmw")) accumulator.by = Accumulate::rewriting, accumulator.zeroed = false;
    if (remarks(row, "counted once")) accumulator.by = Accumulate::reduction;
  }
  plan.times.clear();  // they are of the schedule as it was read
  return plan;
}

// A stand-in GPU that holds `resident_ctas` blocks and the oracle's cache.
HardwareProfile oracle_hardware(const OracleRow& row) {
  HardwareProfile hardware;
  hardware.id = "oracle";
  hardware.units.value = 1;
  MemoryLevel l2;
  l2.id = LevelId::l2;
  l2.capacity_bytes = Sourced<double>{static_cast<double>(row.token("l2_bytes", std::int64_t{1} << 40)), "oracle"};
  hardware.levels.push_back(l2);
  return hardware;
}

}  // namespace

TEST_CASE("bytes, FLOP and exponentials of every schedule, kernel by kernel, equal the oracles") {
  int checked = 0;
  std::map<std::string, std::int64_t> sums;
  for (const OracleRow& row : read_oracles()) {
    const std::string name = row.cells.at("case"), family = name.substr(0, name.find('.'));
    if (row.cells.at("boundary") == "smem_rf" || name.ends_with(".sum")) continue;
    CAPTURE(name);
    const Plan plan = plan_of(row);
    Point point = oracle_point(plan, row);
    const bool dram = row.cells.at("boundary") == "dram_l2";
    point.blocks_per_unit = row.token("resident_ctas", 1);
    Prediction prediction;
    predict(plan, oracle_hardware(row), point, prediction);
    const std::string wanted = recipe_of(row).island;
    const int island = wanted.empty() ? 0 : plan.schedule.find_island(wanted);
    REQUIRE(island >= 0);
    const IslandPrediction& part = prediction.islands[static_cast<std::size_t>(island)];
    const auto& traffic = part.traffic[dram ? Boundary::hbm : Boundary::l2];
    CHECK(traffic[0] + traffic[1] == row.number("bytes"));
    CHECK(part.work.clipped_flop == row.number("flops"));
    CHECK(part.work.exp == row.number("exps"));
    sums[family] += traffic[0] + traffic[1];
    ++checked;
  }
  for (const OracleRow& row : read_oracles()) {
    const std::string name = row.cells.at("case");
    if (!name.ends_with(".sum")) continue;
    CAPTURE(name);
    CHECK(sums[name.substr(0, name.find('.'))] == row.number("bytes"));
    ++checked;
  }
  MESSAGE("rows checked: " << checked);
  CHECK(checked == 142);  // with the four operand rows below: all 146
}

TEST_CASE("operand reads from shared memory equal the oracles when warp tiles form the nest") {
  const Plan plan = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR);
  int checked = 0;
  for (const OracleRow& row : read_oracles()) {
    if (row.cells.at("boundary") != "smem_rf") continue;
    CAPTURE(row.cells.at("case"));
    const Point point = oracle_point(plan, row);
    const Nest nest = bind_nest(plan.schedule, plan.schedule.islands[0], point.workload, point.mask,
                                {point.tiles.data(), point.tiles.size()});
    const bool reread = row.cells.at("derivation").find("Q reread") != std::string::npos;
    std::int64_t bytes = 0;
    for (const char* name : {"Q", "K", "V"}) {
      const ArrayId id = *plan.schedule.diagram.find_array(name);
      const TouchOptions options{.resident = !(reread && *name == 'Q')};
      bytes += bytes_of(point, plan.schedule.diagram, id,
                        touched_values(nest, {}, plan.schedule.diagram.array(id).axes, options));
    }
    CHECK(bytes == row.number("bytes"));
    ++checked;
  }
  CHECK(checked == 4);
}

}  // namespace tilescope::oracle_test
