// A language model as far as memory and time of its layers go: attention in groups of equal layers, and its matrices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

// Layers with the same attention. Every layer is causal.
struct AttentionGroup {
  std::string name = {};  // "full", "window 4096", "chunks of 8192", "latent"
  std::int64_t layers = 0;
  std::int64_t heads_q = 0, heads_kv = 0;
  std::int64_t head_dim = 0, v_head_dim = 0;  // of scores and of values
  std::int64_t window = 0;                    // keys that a query sees, its own among them; 0: all before it
  std::int64_t chunk = 0;                     // queries see keys of their own chunk of so many; 0: no chunks
  std::int64_t latent = 0, rope_dim = 0;      // multi-head latent attention: cached values a token; 0: K and V

  bool is_latent() const { return latent > 0; }
  // Keys that stay in the cache for a sequence of `context` tokens.
  std::int64_t cached_keys(std::int64_t context) const;
};

// Equal matrices, `in` x `out`, one or several (experts) a layer.
struct Matrices {
  std::string name = {};
  std::int64_t layers = 0, in = 0, out = 0;
  std::int64_t copies = 1, used = 1;  // in a layer; by one token
  bool biased = false;
  bool once_a_sequence = false;  // applied to the last token alone: the head
  bool whole = false;            // every GPU of a group holds all of it

  std::int64_t values() const;  // throws CountOverflow
};

struct Network {
  std::string name = {}, architecture = {};  // the file's stem or _name_or_path; model_type
  std::int64_t layers = 0, hidden = 0, vocabulary = 0;
  std::int64_t context = 0;     // largest number of tokens of a sequence; 0: not stated
  std::string format = "bf16";  // of the matrices as they are stored
  std::string plain = "bf16";   // of what is not quantised: embeddings, head, routers and vectors
  bool only_experts = false;    // `format` is that of the experts; all else is plain
  std::vector<AttentionGroup> attention = {};
  std::vector<Matrices> matrices = {};
  std::int64_t table_values = 0;        // of embeddings that are looked up, not multiplied
  std::int64_t vector_values = 0;       // of norms and other vectors
  bool tied = false;                    // the head is the embedding
  std::vector<std::string> notes = {};  // what the analysis leaves out of this model

  std::int64_t parameters() const;         // all values
  std::int64_t active_parameters() const;  // those that one token uses
};

}  // namespace tilescope
