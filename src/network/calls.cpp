#include "network/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/error.h"

namespace tilescope {
namespace {

constexpr std::int64_t most_prefill_steps = 4096;

// Queries of one sequence that see the keys from first_key to their own.
struct Span {
  std::int64_t first_query = 0, end_query = 0, first_key = 0;
};

// The queries of a step, cut where a chunk of attention ends.
std::vector<Span> spans_of(const AttentionGroup& group, std::int64_t first, std::int64_t end) {
  std::vector<Span> spans;
  while (first < end) {
    const std::int64_t start = group.chunk > 0 ? first / group.chunk * group.chunk : 0;
    const std::int64_t stop = group.chunk > 0 ? std::min(end, start + group.chunk) : end;
    const std::int64_t oldest = group.window > 0 ? std::max(start, first - group.window + 1) : start;
    spans.push_back({first, stop, oldest});
    first = stop;
  }
  return spans;
}

Workload workload_of(const AttentionGroup& group, std::int64_t batch, std::int64_t queries, std::int64_t keys,
                     bool absorbed, std::int64_t gpus) {
  const std::int64_t heads = group.heads_q / gpus;
  if (absorbed) return {batch, heads, 1, queries, keys, group.latent + group.rope_dim, group.latent};
  return {batch, heads, kv_heads_of_gpu(group, gpus), queries, keys, group.head_dim, group.v_head_dim};
}

std::string mask_of_call(const AttentionGroup& group, std::int64_t queries, std::int64_t keys) {
  if (queries == 1) return "none";
  return group.window > 0 && group.window < keys ? fmt::format("window:{}", group.window) : "causal";
}

bool same_sizes(const Workload& a, const Workload& b) {
  const auto sizes = [](const Workload& w) {
    return std::array{w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v};
  };
  return sizes(a) == sizes(b);
}

// Equal spans of a step belong to one launch, as more sequences.
void add_step(const AttentionGroup& group, const std::vector<Span>& spans, std::int64_t sequences, bool absorbed,
              std::int64_t gpus, std::vector<AttentionCall>& calls) {
  std::vector<std::pair<Span, std::int64_t>> kinds;
  for (const Span& span : spans) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.first.end_query - kind.first.first_query == span.end_query - span.first_query &&
             kind.first.end_query - kind.first.first_key == span.end_query - span.first_key;
    });
    if (same == kinds.end()) kinds.emplace_back(span, 1);
    else ++same->second;
  }
  for (const auto& [span, copies] : kinds) {
    const std::int64_t queries = span.end_query - span.first_query, keys = span.end_query - span.first_key;
    AttentionCall call{workload_of(group, checked_mul(sequences, copies), queries, keys, absorbed, gpus),
                       mask_of_call(group, queries, keys), absorbed ? "mla_absorbed" : "attention"};
    const auto same = std::find_if(calls.begin(), calls.end(), [&](const AttentionCall& other) {
      return same_sizes(other.workload, call.workload) && other.mask == call.mask;
    });
    if (same == calls.end()) calls.push_back(call);
    else ++same->times;
  }
}

}  // namespace

std::int64_t kv_heads_of_gpu(const AttentionGroup& group, std::int64_t gpus) {
  return std::max<std::int64_t>(1, group.heads_kv / gpus);
}

std::vector<AttentionCall> calls_of(const AttentionGroup& group, Phase phase, const ContextMix& mix,
                                    const ModelQuestion& question) {
  std::vector<AttentionCall> calls;
  for (const SequenceLength& each : mix.lengths) {
    if (phase == Phase::decode) {
      const std::int64_t queries = 1 + question.speculative;
      if (queries > each.context)
        refuse("--speculative", fmt::format("{} queries do not fit a context of {}", queries, each.context));
      add_step(group, spans_of(group, each.context - queries, each.context), each.sequences, group.is_latent(),
               question.gpus, calls);
      continue;
    }
    const std::int64_t tokens = question.chunk > 0 ? std::min(question.chunk, each.context) : each.context;
    if (ceil_div(each.context, tokens) > most_prefill_steps)
      refuse("--chunk", fmt::format("a prompt of {} tokens takes more than {} steps of {}; choose a larger chunk",
                                    each.context, most_prefill_steps, tokens));
    for (std::int64_t first = 0; first < each.context; first += tokens)
      add_step(group, spans_of(group, first, std::min(each.context, first + tokens)), each.sequences, false,
               question.gpus, calls);
  }
  return calls;
}

}  // namespace tilescope
