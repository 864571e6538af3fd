#include "network/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/checked.h"
#include "base/text.h"

namespace tilescope {
namespace {

enum class Sight { full, window, chunk };  // what a layer's queries see

// Newer configurations name each layer's kind; older ones imply it by a rule of the architecture.
std::vector<Sight> sights_of(ConfigValues& values, const Architecture& architecture, std::int64_t layers) {
  const bool windows_on = values.flag("window_on").value_or(true);
  const bool windowed = windows_on && values.count("window").has_value();
  const bool chunked = values.count("chunk").has_value();
  constexpr std::int64_t most_layers = 100'000;
  if (layers > most_layers) {
    values.report("layers", fmt::format("expected at most {} layers, found {}", most_layers, layers));
    return {};
  }
  std::vector<Sight> sights(static_cast<std::size_t>(layers), Sight::full);
  if (const auto types = values.texts("layer_types"); !types.empty()) {
    if (types.size() != sights.size()) {
      values.report("layer_types", fmt::format("names {} layers; the model has {}", types.size(), layers));
      return sights;
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] == "sliding_attention") sights[i] = windows_on ? Sight::window : Sight::full;
      else if (types[i] == "chunked_attention") sights[i] = Sight::chunk;
      else if (types[i] != "full_attention")
        values.report("layer_types", fmt::format("expected full_attention, sliding_attention or chunked_attention, "
                                                 "found {}; other layers are not attention",
                                                 shown_text(types[i])));
    }
    return sights;
  }
  if (!windowed && !chunked) return sights;
  const Sight limited = chunked ? Sight::chunk : Sight::window;
  const std::int64_t every = architecture.windows == WindowRule::but_every ? values.required("full_every") : 0;
  const std::int64_t from = architecture.windows == WindowRule::from ? values.count("window_from").value_or(0) : 0;
  if (architecture.windows == WindowRule::none) return sights;
  for (std::int64_t i = 0; i < layers; ++i)
    if (i >= from && (every == 0 || (i + 1) % every != 0)) sights[static_cast<std::size_t>(i)] = limited;
  return sights;
}

struct Heads {
  std::int64_t q = 0, kv = 0, head_dim = 0;
};

Heads heads_of(ConfigValues& values, const Network& network) {
  Heads heads;
  heads.q = values.required("heads_q");
  const bool single =
      values.flag("multi_query").value_or(false) && !values.flag("new_decoder_architecture").value_or(false);
  heads.kv = single ? 1 : values.size("heads_kv").value_or(heads.q);
  const auto stated = values.size("head_dim");
  heads.head_dim = stated.value_or(std::max<std::int64_t>(1, network.hidden / heads.q));
  if (!stated && network.hidden % heads.q != 0)
    values.report("heads_q", fmt::format("{} heads do not divide hidden_size {} and head_dim is missing", heads.q,
                                         network.hidden));
  if (heads.q % heads.kv != 0)
    values.report("heads_kv", fmt::format("expected a divisor of the {} query heads, found {}", heads.q, heads.kv));
  return heads;
}

void add_grouped_attention(ConfigValues& values, const Architecture& architecture, Network& network) {
  const Heads heads = heads_of(values, network);
  const std::vector<Sight> sights = sights_of(values, architecture, network.layers);
  for (const Sight sight : {Sight::full, Sight::window, Sight::chunk}) {
    const auto layers = std::count(sights.begin(), sights.end(), sight);
    if (layers == 0) continue;
    AttentionGroup group{"full", layers, heads.q, heads.kv, heads.head_dim, heads.head_dim};
    if (sight == Sight::window)
      group.window = values.required("window"), group.name = fmt::format("window {}", group.window);
    if (sight == Sight::chunk)
      group.chunk = values.required("chunk"), group.name = fmt::format("chunks of {}", group.chunk);
    network.attention.push_back(group);
  }
  const auto biased = [&](const char* part) { return architecture.biases.contains(part); };
  const std::int64_t n = network.layers, wide = heads.q * heads.head_dim, narrow = heads.kv * heads.head_dim;
  network.matrices.push_back({.name = "Q", .layers = n, .in = network.hidden, .out = wide, .biased = biased("q")});
  network.matrices.push_back({.name = "K", .layers = n, .in = network.hidden, .out = narrow, .biased = biased("k")});
  network.matrices.push_back({.name = "V", .layers = n, .in = network.hidden, .out = narrow, .biased = biased("v")});
  network.matrices.push_back({.name = "O", .layers = n, .in = wide, .out = network.hidden, .biased = biased("o")});
  if (architecture.query_key_norm) network.vector_values += n * 2 * heads.head_dim;
  if (architecture.sinks) {
    network.vector_values += n * heads.q;
    network.notes.emplace_back(
        "the sink logit of each head (4 bytes a head and layer, one exponential a row) is left out");
  }
}

// Multi-head latent attention, arXiv 2405.04434 section 2.1. In decode the up-projections are absorbed: one latent
// head serves all query heads. A prompt is expanded to heads of its own.
void add_latent_attention(ConfigValues& values, Network& network) {
  const std::int64_t heads = values.required("heads_q"), latent = values.required("kv_latent");
  const std::int64_t rope = values.required("rope_dim"), nope = values.required("nope_dim");
  const std::int64_t value_dim = values.required("v_head_dim"), n = network.layers;
  for (const std::string& type : values.texts("layer_types"))
    if (type != "full_attention")
      values.report("layer_types", fmt::format("expected full_attention in each layer of latent attention, found {}",
                                               shown_text(type)));
  network.attention.push_back({.name = "latent",
                               .layers = n,
                               .heads_q = heads,
                               .heads_kv = heads,
                               .head_dim = nope + rope,
                               .v_head_dim = value_dim,
                               .latent = latent,
                               .rope_dim = rope});
  if (const auto q_latent = values.count("q_latent")) {
    network.matrices.push_back({.name = "Q down", .layers = n, .in = network.hidden, .out = *q_latent, .whole = true});
    network.matrices.push_back({.name = "Q up", .layers = n, .in = *q_latent, .out = heads * (nope + rope)});
    network.vector_values += n * *q_latent;
  } else {
    network.matrices.push_back({.name = "Q", .layers = n, .in = network.hidden, .out = heads * (nope + rope)});
  }
  network.matrices.push_back(
      {.name = "KV down", .layers = n, .in = network.hidden, .out = latent + rope, .whole = true});
  network.matrices.push_back({.name = "KV up", .layers = n, .in = latent, .out = heads * (nope + value_dim)});
  network.matrices.push_back({.name = "O", .layers = n, .in = heads * value_dim, .out = network.hidden});
  network.vector_values += n * latent;
}

// How many layers hold experts.
std::int64_t layers_with_experts(ConfigValues& values, const Architecture& architecture, std::int64_t layers) {
  const bool all = architecture.experts_every_layer;
  const std::int64_t from = all ? 0 : std::min(values.count("experts_from").value_or(0), layers);
  const std::int64_t every = all ? 1 : values.size("experts_every").value_or(1);
  const std::set<std::int64_t> with = values.layer_numbers("expert_layers", layers);
  const std::set<std::int64_t> without = values.layer_numbers("dense_layers", layers);
  const auto is_dense = [&](std::int64_t layer) { return without.contains(layer); };
  if (!with.empty()) return std::count_if(with.begin(), with.end(), std::not_fn(is_dense));
  const auto would_have = [&](std::int64_t layer) { return layer >= from && (layer + 1) % every == 0; };
  return layers / every - from / every - std::count_if(without.begin(), without.end(), would_have);
}

void add_feed_forward(ConfigValues& values, const Architecture& architecture, Network& network) {
  const std::int64_t width = values.size("feed_forward").value_or(4 * network.hidden);
  const auto experts = values.count("experts");
  const std::int64_t with_experts = experts ? layers_with_experts(values, architecture, network.layers) : 0;
  const auto add = [&](const std::string& name, std::int64_t layers, std::int64_t size, std::int64_t copies,
                       std::int64_t used, bool biased) {
    if (layers == 0) return;
    const auto part = [&](const char* which, std::int64_t in, std::int64_t out) {
      network.matrices.push_back({name + which, layers, in, out, copies, used, biased});
    };
    part(" up", network.hidden, size);
    if (architecture.gated) part(" gate", network.hidden, size);
    part(" down", size, network.hidden);
  };
  const std::int64_t dense = values.size("dense_feed_forward").value_or(width);
  add("feed-forward", network.layers - with_experts, dense, 1, 1, architecture.biases.contains("feed_forward"));
  if (with_experts == 0) return;
  const std::int64_t used = values.required("experts_per_token");
  if (used > *experts)
    values.report("experts_per_token", fmt::format("expected at most {} experts, found {}", *experts, used));
  const std::int64_t size = values.size("expert_feed_forward").value_or(width);
  add("experts", with_experts, size, *experts, used, architecture.biases.contains("experts"));
  if (const auto shared = values.count("shared_experts"))
    add("shared experts", with_experts, size * *shared, 1, 1, false);
  network.matrices.push_back({.name = "router",
                              .layers = with_experts,
                              .in = network.hidden,
                              .out = *experts,
                              .biased = architecture.biases.contains("router"),
                              .whole = true});
}

}  // namespace

void read_layers(ConfigValues& values, const Architecture& architecture, Network& network) {
  network.layers = values.required("layers"), network.hidden = values.required("hidden");
  network.vocabulary = values.required("vocabulary");
  network.context = values.count("context").value_or(0);
  network.tied = values.flag("tie_word_embeddings").value_or(architecture.tied);
  if (values.count("kv_latent")) add_latent_attention(values, network);
  else add_grouped_attention(values, architecture, network);
  add_feed_forward(values, architecture, network);
  network.matrices.push_back({.name = "head",
                              .layers = 1,
                              .in = network.hidden,
                              .out = network.vocabulary,
                              .biased = architecture.biases.contains("head"),
                              .once_a_sequence = true});
  network.table_values = checked_mul(network.vocabulary, network.hidden);
  if (architecture.learned_positions) network.table_values += network.context * network.hidden;
  const std::int64_t norm = network.hidden * (architecture.biases.contains("norm") ? 2 : 1);
  network.vector_values += (network.layers * architecture.norms + 1) * norm;
}

}  // namespace tilescope
