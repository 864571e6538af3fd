// Memory of a model on one GPU: its weights and its KV cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/question.h"

namespace tilescope {

// The KV cache of all layers on one of the question's GPUs. `dtype` is a format of the attention as --dtype has it
// ("fp16,kv=int8"); a latent cache has the format of its keys.
class KvCache {
 public:
  KvCache(const ModelQuestion& question, const std::string& dtype);

  // Bytes that one more token takes, while no window is full.
  std::int64_t bytes_of_token() const;
  // Bytes of one sequence. Pages round the keys up.
  std::int64_t bytes_of_sequence(std::int64_t context) const;
  std::int64_t bytes(const ContextMix& mix) const;

  // The largest number of sequences as the mix has them, and the longest context of so many sequences, that fit into
  // `room` bytes. nullopt: none fits. The longest context is `largest_extent` where caches stop growing.
  std::optional<std::int64_t> largest_batch(const ContextMix& mix, std::int64_t room) const;
  std::optional<std::int64_t> longest_context(std::int64_t sequences, std::int64_t room) const;

 private:
  const std::vector<AttentionGroup>* groups_;
  std::vector<std::int64_t> bytes_of_key_;  // in one layer of each group
  std::int64_t page_;
};

// Bytes of the weights on one of the question's GPUs.
std::int64_t weight_bytes(const ModelQuestion& question);

}  // namespace tilescope
