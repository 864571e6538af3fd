#include "network/memory.h"

#include <algorithm>

#include "base/checked.h"
#include "diagram/workload.h"
#include "network/calls.h"
#include "request/read_point.h"

namespace tilescope {
namespace {

// Formats of what the cache holds of a token.
struct CacheFormats {
  Dtype k, v;
};

CacheFormats cache_formats(const std::string& dtype, bool latent) {
  Options options;
  options = options.with("dtype", dtype).with("q-len", "1");
  if (latent) options = options.with("diagram", "mla_absorbed");
  const Plan plan = read_plan(options);
  const Point point = read_point(options, plan);
  const auto of = [&](const std::string& key) {
    for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i)
      if (plan.schedule.diagram.arrays[i].dtype_key == key) return point.dtypes[i];
    return point.dtypes.front();
  };
  return {of("k"), of("v")};
}

std::int64_t bytes_of_key(const AttentionGroup& group, const CacheFormats& formats, std::int64_t gpus) {
  if (group.is_latent()) return row_bytes(formats.k, 1, group.latent + group.rope_dim);
  const std::int64_t heads = kv_heads_of_gpu(group, gpus);
  return checked_add(row_bytes(formats.k, heads, group.head_dim), row_bytes(formats.v, heads, group.v_head_dim));
}

Dtype dtype_named(const std::string& name) { return parse_dtype(name).value_or(Dtype{}); }

// The largest n in [0, most] for which `needed(n)` is at most `room`; needed does not fall. A count that overflows does
// not fit.
template <class Needed>
std::int64_t largest_that_fits(std::int64_t most, std::int64_t room, Needed needed) {
  std::int64_t low = 0, high = most;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    bool fits = false;
    try {
      fits = needed(middle) <= room;
    } catch (const CountOverflow&) {
    }
    if (fits) low = middle;
    else high = middle - 1;
  }
  return low;
}

}  // namespace

KvCache::KvCache(const ModelQuestion& question, const std::string& dtype)
    : groups_(&question.network.attention), page_(question.page) {
  for (const AttentionGroup& group : *groups_)
    bytes_of_key_.push_back(bytes_of_key(group, cache_formats(dtype, group.is_latent()), question.gpus));
}

std::int64_t KvCache::bytes_of_token() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < groups_->size(); ++i)
    sum = checked_add(sum, checked_mul((*groups_)[i].layers, bytes_of_key_[i]));
  return sum;
}

std::int64_t KvCache::bytes_of_sequence(std::int64_t context) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < groups_->size(); ++i) {
    const AttentionGroup& group = (*groups_)[i];
    const std::int64_t cached = group.cached_keys(context);
    const std::int64_t keys = page_ > 0 ? checked_mul(ceil_div(cached, page_), page_) : cached;
    sum = checked_add(sum, checked_mul(group.layers, checked_mul(keys, bytes_of_key_[i])));
  }
  return sum;
}

std::int64_t KvCache::bytes(const ContextMix& mix) const {
  std::int64_t sum = 0;
  for (const SequenceLength& each : mix.lengths)
    sum = checked_add(sum, checked_mul(each.sequences, bytes_of_sequence(each.context)));
  return sum;
}

std::optional<std::int64_t> KvCache::largest_batch(const ContextMix& mix, std::int64_t room) const {
  const double batches = static_cast<double>(room) / static_cast<double>(bytes(mix));
  const double sequences = batches * static_cast<double>(mix.sequences());
  if (sequences < 1) return std::nullopt;
  return static_cast<std::int64_t>(std::min(sequences, static_cast<double>(largest_extent)));
}

std::optional<std::int64_t> KvCache::longest_context(std::int64_t sequences, std::int64_t room) const {
  const std::int64_t longest = largest_that_fits(
      largest_extent, room, [&](std::int64_t context) { return checked_mul(sequences, bytes_of_sequence(context)); });
  return longest > 0 ? std::optional(longest) : std::nullopt;
}

std::int64_t weight_bytes(const ModelQuestion& question) {
  const Network& network = question.network;
  const Dtype plain = dtype_named(network.plain), stored = question.weights.value_or(dtype_named(network.format));
  const bool only_experts = network.only_experts && !question.weights;
  std::int64_t sum =
      row_bytes(plain, 1, checked_add(ceil_div(network.table_values, question.gpus), network.vector_values));
  for (const Matrices& each : network.matrices) {
    if (each.once_a_sequence && network.tied) continue;
    const bool quantised = !each.once_a_sequence && each.name != "router" && (!only_experts || each.copies > 1);
    const std::int64_t out = each.whole ? each.out : ceil_div(each.out, question.gpus);
    const std::int64_t rows = checked_mul(checked_mul(each.layers, each.copies), out);
    sum = checked_add(sum, row_bytes(quantised ? stored : plain, rows, each.in));
    if (each.biased) sum = checked_add(sum, row_bytes(plain, 1, rows));
  }
  return sum;
}

}  // namespace tilescope
