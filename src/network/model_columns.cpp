#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "network/model.h"

namespace tilescope {
namespace {

std::string kernels_of(const ModelRow& row) {
  std::vector<std::string> names;
  for (const GroupTime& group : row.groups)
    if (std::find(names.begin(), names.end(), group.kernel) == names.end()) names.push_back(group.kernel);
  return join(names, ", ");
}

// The bound of the group that takes longest.
std::string bound_of(const ModelRow& row) {
  const auto longest = std::max_element(row.groups.begin(), row.groups.end(), [](const auto& a, const auto& b) {
    return a.layer_seconds * static_cast<double>(a.layers) < b.layer_seconds * static_cast<double>(b.layers);
  });
  return longest == row.groups.end() ? "" : longest->bound_by;
}

// A value of rows that have a time.
template <class Value>
std::function<Json(const ModelRow&)> timed(Value value) {
  return [value](const ModelRow& row) { return row.reason.empty() ? Json(value(row)) : Json(nullptr); };
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

double tokens_per_second(const ModelRow& row) { return static_cast<double>(row.tokens) / row.seconds(); }

template <class Row>
Column<Row> column(ColumnInfo info, std::function<Json(const Row&)> value, std::function<Json(const Row&)> text = {}) {
  Column<Row> made;
  static_cast<ColumnInfo&>(made) = std::move(info);
  made.value = std::move(value), made.text = std::move(text);
  return made;
}

using RowValue = std::function<Json(const ModelRow&)>;

Columns<ModelRow> columns_of_question() {
  Columns<ModelRow> columns;
  const auto add = [&](const char* key, const char* unit, const char* meaning, RowValue value) {
    columns.push_back(column<ModelRow>({key, key, unit, meaning, Origin::question}, std::move(value)));
  };
  add("hardware", "", "GPU.", [](const ModelRow& r) { return r.hardware; });
  add("gpus", "", "GPUs that share heads and weights; every number is of one of them.",
      [](const ModelRow& r) { return r.gpus; });
  add("phase", "", "prefill: all prompts of the batch; decode: one step.",
      [](const ModelRow& r) { return to_string(r.phase); });
  add("context", "tokens", "Tokens of each sequence, or the mix of lengths.",
      [](const ModelRow& r) { return r.mix->text; });
  add("batch", "", "Sequences.", [](const ModelRow& r) { return r.mix->sequences(); });
  add("dtype", "", "Formats of the attention, as --dtype takes them.", [](const ModelRow& r) { return r.dtype; });
  return columns;
}

Columns<ModelRow> columns_of_time() {
  Columns<ModelRow> columns;
  const auto add = [&](const char* key, const char* title, const char* unit, const char* meaning, Origin origin,
                       std::function<Json(const ModelRow&)> value) {
    columns.push_back(column<ModelRow>({key, title, unit, meaning, origin}, std::move(value)));
  };
  add("kernel", "kernel", "", "Kernel of each group of layers; ideal: none with a descriptor runs there.",
      Origin::question, timed(kernels_of));
  add("model", "model", "", "blocks: time by the model of blocks; bound: at least the slowest resource's time.",
      Origin::time_model, timed([](const ModelRow& r) { return r.model; }));
  add("basis", "basis", "", "Rates of the GPUs: stated in their profiles, or derived by rules for all.",
      Origin::profile, timed([](const ModelRow& r) { return r.basis; }));
  columns.push_back(
      column<ModelRow>({"attention_seconds", "attention ms", "s", "Attention of all layers.", Origin::time_model},
                       timed([](const ModelRow& r) { return r.attention_seconds; }),
                       timed([](const ModelRow& r) { return r.attention_seconds * 1e3; })));
  columns.push_back(column<ModelRow>(
      {"other_seconds", "other ms, at least", "s",
       "Least time of the other matrices of all layers: each moves its bytes once, or is held by its FLOP "
       "(--whole-layer).",
       Origin::time_model},
      timed([](const ModelRow& r) { return or_null(r.matrix_seconds); }),
      timed([](const ModelRow& r) { return r.matrix_seconds ? Json(*r.matrix_seconds * 1e3) : Json(nullptr); })));
  add("attention_share", "share", "", "Attention's part of the time, where the other matrices were asked for.",
      Origin::time_model, timed([](const ModelRow& r) {
        return r.matrix_seconds ? Json(r.attention_seconds / r.seconds()) : Json(nullptr);
      }));
  add("tokens_per_second", "tokens/s", "tokens/s",
      "Tokens that the time allows: of attention alone, unless the other matrices were asked for. Drafted tokens "
      "count.",
      Origin::time_model, timed(tokens_per_second));
  add("bound_by", "bound by", "", "The busiest resource of the group of layers that takes longest.", Origin::time_model,
      timed(bound_of));
  add("error_p90", "error", "", "What nine of ten records of such a kernel stay within; null: a part has no record.",
      Origin::records, timed([](const ModelRow& r) { return or_null(r.error); }));
  add("joules_per_token", "J/token", "J", "Energy of attention a token, on one GPU; null: the profile has no energies.",
      Origin::time_model, timed([](const ModelRow& r) {
        return r.joules > 0 ? Json(r.joules / static_cast<double>(r.tokens)) : Json(nullptr);
      }));
  add("cost_per_million_tokens", "cost/M", "", "Price of all GPUs for a million tokens, in the currency of --price.",
      Origin::time_model, timed([](const ModelRow& r) {
        return r.price ? Json(*r.price * static_cast<double>(r.gpus) / 3600 / tokens_per_second(r) * 1e6)
                       : Json(nullptr);
      }));
  return columns;
}

Columns<ModelRow> columns_of_memory() {
  Columns<ModelRow> columns;
  const auto add = [&](const char* key, const char* title, const char* unit, const char* meaning,
                       std::function<Json(const ModelRow&)> value, std::function<Json(const ModelRow&)> text = {}) {
    columns.push_back(column<ModelRow>({key, title, unit, meaning, Origin::loops}, std::move(value), std::move(text)));
  };
  const auto known = [](const ModelRow& r) { return r.capacity_bytes > 0 || r.past_maximum; };
  const auto gigabytes = [](double bytes) { return fmt::format("{:.4g} GB", bytes / 1e9); };
  add("kv_bytes_per_token", "KV B/token", "B", "What one token takes in the caches of all layers, on one GPU.",
      [](const ModelRow& r) { return r.cache_bytes_of_token; });
  add(
      "kv_bytes", "KV", "B", "Caches of the batch, on one GPU.", [](const ModelRow& r) { return r.cache_bytes; },
      [gigabytes](const ModelRow& r) { return gigabytes(static_cast<double>(r.cache_bytes)); });
  add(
      "weight_bytes", "weights", "B", "Weights on one GPU.", [](const ModelRow& r) { return r.weight_bytes; },
      [gigabytes](const ModelRow& r) { return gigabytes(static_cast<double>(r.weight_bytes)); });
  add(
      "capacity_bytes", "capacity", "B", "Memory of one GPU.",
      [](const ModelRow& r) { return r.capacity_bytes > 0 ? Json(r.capacity_bytes) : Json(nullptr); },
      [gigabytes](const ModelRow& r) {
        return r.capacity_bytes > 0 ? Json(gigabytes(r.capacity_bytes)) : Json(nullptr);
      });
  add(
      "fits", "fits", "",
      "Whether weights and caches fit the memory, and sequences the model's maximum. Activations and workspace are "
      "left out.",
      [known](const ModelRow& r) { return known(r) ? Json(r.fits()) : Json(nullptr); },
      [known](const ModelRow& r) { return known(r) ? Json(r.fits() ? "yes" : "no") : Json(nullptr); });
  add("largest_batch", "largest batch", "", "Sequences of this context that fit; null: none.",
      [](const ModelRow& r) { return or_null(r.largest_batch); });
  add("longest_context", "longest context", "tokens",
      "Tokens of each of so many sequences that fit, up to the model's own limit; null: none.",
      [](const ModelRow& r) { return or_null(r.longest_context); });
  add("reason", "why no time", "", "Why it has no time: it does not fit, or no kernel runs there.",
      [](const ModelRow& r) { return r.reason.empty() ? Json(nullptr) : Json(r.reason); });
  return columns;
}

Json group_json(const GroupTime& group) {
  return {{"layers", group.layers},
          {"attention", group.name},
          {"kernel", group.kernel},
          {"layer_seconds", group.layer_seconds},
          {"bound_by", group.bound_by}};
}

}  // namespace

const Columns<ModelRow>& model_columns() {
  static const Columns<ModelRow> all = [] {
    Columns<ModelRow> columns = columns_of_question();
    for (const auto& part : {columns_of_time(), columns_of_memory()})
      columns.insert(columns.end(), part.begin(), part.end());
    return columns;
  }();
  return all;
}

const Columns<AttentionGroup>& attention_group_columns() {
  static const Columns<AttentionGroup> all = [] {
    Columns<AttentionGroup> columns;
    const auto add = [&](const char* key, const char* unit, const char* meaning, Origin origin,
                         std::function<Json(const AttentionGroup&)> value) {
      columns.push_back(column<AttentionGroup>({key, key, unit, meaning, origin}, std::move(value)));
    };
    const auto given = Origin::question;
    add("attention", "", "What a query sees: all keys before it, a window, its chunk, or a latent.", given,
        [](const AttentionGroup& g) { return g.name; });
    add("layers", "", "Layers of this kind.", given, [](const AttentionGroup& g) { return g.layers; });
    add("heads_q", "", "Query heads.", given, [](const AttentionGroup& g) { return g.heads_q; });
    add("heads_kv", "", "KV heads; of a latent, those that it is expanded to.", given,
        [](const AttentionGroup& g) { return g.heads_kv; });
    add("head_dim", "", "Head dimension of Q and K.", given, [](const AttentionGroup& g) { return g.head_dim; });
    add("v_head_dim", "", "Head dimension of V.", given, [](const AttentionGroup& g) { return g.v_head_dim; });
    add("cached_values", "values", "Values of a token in the cache of a layer, all heads.", Origin::loops,
        [](const AttentionGroup& g) {
          return g.is_latent() ? g.latent + g.rope_dim : g.heads_kv * (g.head_dim + g.v_head_dim);
        });
    return columns;
  }();
  return all;
}

ColumnList model_column_list() { return listed("model", "model: JSON rows[], CSV, text", model_columns()); }

Json model_json(const ModelQuestion& question, const std::vector<ModelRow>& rows) {
  const Network& network = question.network;
  Json list = Json::array();
  for (const ModelRow& row : rows) {
    Json object = object_of(model_columns(), row);
    object["groups"] = Json::array();
    for (const GroupTime& group : row.groups) object["groups"].push_back(group_json(group));
    list.push_back(std::move(object));
  }
  return {{"schema", "tilescope/model/1"},
          {"network",
           {{"name", network.name},
            {"model_type", network.architecture},
            {"layers", network.layers},
            {"hidden", network.hidden},
            {"vocabulary", network.vocabulary},
            {"context", network.context > 0 ? Json(network.context) : Json(nullptr)},
            {"parameters", network.parameters()},
            {"active_parameters", network.active_parameters()},
            {"weights", question.weights ? to_string(*question.weights) : network.format},
            {"attention", objects_of(attention_group_columns(), network.attention)},
            {"notes", network.notes}}},
          {"rows", std::move(list)}};
}

}  // namespace tilescope
