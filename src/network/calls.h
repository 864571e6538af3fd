// The calls of attention that one layer makes in a phase, on one GPU.
#pragma once

#include <string>
#include <vector>

#include "diagram/workload.h"
#include "network/question.h"

namespace tilescope {

// Equal calls of attention.
struct AttentionCall {
  Workload workload;
  std::string mask;     // as --mask
  std::string diagram;  // "attention", or that of absorbed latent attention
  std::int64_t times = 1;
};

// Decode: one step of the batch. Prefill: all steps of all prompts, `chunk` tokens of each at a time. Sequences of
// different length are calls of their own, one after the other.
std::vector<AttentionCall> calls_of(const AttentionGroup& group, Phase phase, const ContextMix& mix,
                                    const ModelQuestion& question);

// KV heads of a group that one of `gpus` GPUs holds: the heads are divided, and repeated when there are fewer.
std::int64_t kv_heads_of_gpu(const AttentionGroup& group, std::int64_t gpus);

}  // namespace tilescope
