#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "kernel/describe/facts.h"

namespace tilescope {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* facts_schema = "tilescope/attention-facts/1";

// Calls visit(name, member) for every fact, in the order of a line.
template <class Facts, class Visit>
void visit_facts(Facts& f, const Visit& visit) {
  visit("kernel", f.kernel), visit("compute_capability", f.compute_capability);
  visit("registers", f.registers), visit("static_smem", f.static_smem), visit("local_bytes", f.local_bytes);
  visit("most_threads", f.most_threads);
  visit("opcode", f.opcode), visit("operands", f.operands);
  visit("m", f.m), visit("n", f.n), visit("k", f.k);
  visit("operand_bits", f.operand_bits), visit("unit_threads", f.unit_threads);
  visit("loaded_bits", f.loaded_bits), visit("loaded_as", f.loaded_as);
  visit("rows", f.rows), visit("keys", f.keys), visit("head_dim", f.head_dim), visit("v_head_dim", f.v_head_dim);
  visit("q_in_smem", f.q_in_smem), visit("scores_ahead", f.scores_ahead);
  visit("loop_warps", f.loop_warps);
  visit("consumer_registers", f.consumer_registers), visit("producer_registers", f.producer_registers);
  visit("step", f.step), visit("masked_step", f.masked_step), visit("once", f.once);
  visit("copied_bytes", f.copied_bytes), visit("copy_engine", f.copy_engine);
  visit("barriers", f.barriers), visit("turns", f.turns), visit("product_turns", f.product_turns);
  visit("score_turns", f.score_turns), visit("persistent", f.persistent);
  visit("stores_log_sum_exp", f.stores_log_sum_exp), visit("output_through_smem", f.output_through_smem);
  visit("rows_stored", f.rows_stored), visit("stores_without_product", f.stores_without_product);
  visit("copies_out", f.copies_out), visit("rewrites_tiles", f.rewrites_tiles);
  visit("score_parts", f.score_parts), visit("q_once_in_smem", f.q_once_in_smem),
      visit("value_operands", f.value_operands), visit("results_as", f.results_as);
  visit("value_bits", f.value_bits);
  visit("transposed", f.transposed), visit("q_direct", f.q_direct), visit("fetched_bytes", f.fetched_bytes);
  visit("pass", f.pass), visit("p_in_registers", f.p_in_registers), visit("reduces", f.reduces);
  visit("depth_of_pass", f.depth_of_pass), visit("value_depth", f.value_depth);
  visit("score_pass", f.score_pass), visit("value_pass", f.value_pass);
  visit("score_grid_rows", f.score_grid.rows), visit("score_grid_columns", f.score_grid.columns);
  visit("value_grid_rows", f.value_grid.rows), visit("value_grid_columns", f.value_grid.columns);
  visit("column_units", f.column_units), visit("helpers", f.helpers), visit("p_in_smem", f.p_in_smem),
      visit("sliced", f.sliced);
  visit("arriving", f.arriving), visit("passes_of_copy", f.passes_of_copy);
  visit("spilled_step_stored", f.spilled_step.stored), visit("spilled_step_loaded", f.spilled_step.loaded);
  visit("spilled_once_stored", f.spilled_once.stored), visit("spilled_once_loaded", f.spilled_once.loaded);
  visit("spill_waits", f.spill_waits), visit("program", f.program);
}

template <class T>
Json json_of(const T& value) {
  return value;
}
Json json_of(const AttentionPass& pass) { return to_string(pass); }
template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void require(bool holds, const char* expectation) {
  if (!holds) throw std::invalid_argument(expectation);
}

constexpr std::int64_t most_count = std::int64_t{1} << 20;  // the products of three fit 64 bits
void take(const Json& json, std::int64_t& to) {
  require(json.is_number_integer() && json.get<std::int64_t>() >= 0 && json.get<std::int64_t>() <= most_count,
          "a count from 0 to 2^20");
  to = json.get<std::int64_t>();
}
void take(const Json& json, AttentionPass& to) {
  const auto pass = json.is_string() ? parse_kind<AttentionPass>(json.get<std::string>()) : std::nullopt;
  require(pass.has_value(), "forward, forward_queries, backward, backward_keys or backward_queries");
  to = *pass;
}
void take(const Json& json, bool& to) {
  require(json.is_boolean(), "true or false");
  to = json.get<bool>();
}
void take(const Json& json, std::string& to) {
  require(json.is_string(), "a text");
  to = json.get<std::string>();
}
void take(const Json& json, std::optional<std::int64_t>& to) {
  if (json.is_null()) return;
  take(json, to.emplace());
}
void take(const Json& json, std::vector<std::int64_t>& to) {
  require(json.is_array(), "a list of counts");
  for (const Json& item : json) take(item, to.emplace_back());
}
void take(const Json& json, ThreadWork& to) {
  require(json.is_object(), "a map of counts");
  for (const auto& [key, value] : json.items()) take(value, to[key]);
}

// Facts of few kernels, which are left out where they say nothing.
bool of_few(std::string_view name) {
  constexpr std::string_view names[] = {
      "depth_of_pass",   "value_depth",        "score_pass",    "value_pass", "score_grid_rows", "score_grid_columns",
      "value_grid_rows", "value_grid_columns", "helpers",       "p_in_smem",  "sliced",          "arriving",
      "passes_of_copy",  "column_units",       "product_turns", "score_turns"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Facts that files of an earlier version do not have: then they are not known.
bool added_later(std::string_view name) {
  if (of_few(name)) return true;
  constexpr std::string_view names[] = {"rows_stored",    "stores_without_product",
                                        "copies_out",     "rewrites_tiles",
                                        "value_bits",     "q_once_in_smem",
                                        "score_parts",    "value_operands",
                                        "transposed",     "q_direct",
                                        "fetched_bytes",  "pass",
                                        "p_in_registers", "reduces",
                                        "program",        "results_as"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Sizes by which a description divides.
void check_sizes(const AttentionFacts& f) {
  for (const std::int64_t size :
       {f.m, f.n, f.k, f.unit_threads, f.rows, f.keys, f.head_dim, f.v_head_dim, f.column_units})
    require(size > 0, "sizes of at least 1");
  require(f.score_parts > 0 && f.score_parts <= f.head_dim, "score_parts of 1 to head_dim");
  require(f.operand_bits >= 4 && f.loaded_bits >= 4, "operand_bits and loaded_bits of at least 4");
  for (const std::int64_t size : {f.rows * f.score_grid.rows, f.keys * f.score_grid.columns, f.rows * f.passes_of_copy,
                                  f.keys * f.passes_of_copy})
    require(size <= most_count, "tiles of a block of at most 2^20");
  require(f.rows * f.keys >= f.unit_threads, "a score for every thread of a unit");
  require(f.program.empty() || (f.program.front() > ' ' && f.program.back() == '\n' &&
                                std::all_of(f.program.begin(), f.program.end(),
                                            [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; })),
          "a program of lines of printable characters");
}

}  // namespace

std::string facts_json(const AttentionFacts& facts) {
  Json line{{"schema", facts_schema}};
  const AttentionFacts nothing;
  std::map<std::string, Json> empty;
  visit_facts(nothing, [&](const char* name, const auto& value) {
    if (of_few(name)) empty[name] = json_of(value);
  });
  visit_facts(facts, [&](const char* name, const auto& value) {
    Json json = json_of(value);
    if (const auto found = empty.find(name); found == empty.end() || found->second != json)
      line[name] = std::move(json);
  });
  return line.dump();
}

AttentionFacts read_facts(const std::string& json, const std::string& file) {
  const auto refuse = [&](const std::string& message) {
    return InputError(Diagnostic{.file = file, .message = message});
  };
  const Json line = Json::parse(json, nullptr, false);
  if (!line.is_object() || line.value("schema", Json()) != facts_schema)
    throw refuse(fmt::format("expected one JSON object with schema {}", facts_schema));
  AttentionFacts facts;
  std::size_t known = 1;
  visit_facts(facts, [&](const char* name, auto& value) {
    const auto found = line.find(name);
    if (found == line.end() && added_later(name)) return;
    if (found == line.end()) throw refuse(fmt::format("'{}' is missing", name));
    try {
      take(*found, value);
    } catch (const std::invalid_argument& expectation) {
      throw refuse(fmt::format("'{}' is not {}", name, expectation.what()));
    }
    ++known;
  });
  if (line.size() != known) throw refuse("it has a key that facts do not have");
  try {
    check_sizes(facts);
  } catch (const std::invalid_argument& expectation) {
    throw refuse(fmt::format("expected {}", expectation.what()));
  }
  share_columns(facts);
  return facts;
}

}  // namespace tilescope
