// What is asked about a model: its phases, sizes, formats and GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/enum_table.h"
#include "network/network.h"
#include "request/option_specs.h"

namespace tilescope {

enum class Phase { prefill, decode };
template <>
struct EnumTable<Phase> {
  static constexpr std::array rows{NamedKind{Phase::prefill, "prefill"}, NamedKind{Phase::decode, "decode"}};
};

struct SequenceLength {
  std::int64_t context = 0, sequences = 0;
};

// Sequences of a batch by their lengths: "32k", or "8k:48+32k:16".
struct ContextMix {
  std::string text;
  std::vector<SequenceLength> lengths;

  std::int64_t sequences() const;
  std::int64_t tokens() const;
  std::int64_t longest() const;  // context
};

struct ModelQuestion {
  Network network;
  std::vector<std::string> hardware = {}, dtypes = {}, kernels = {};  // a row for each combination
  std::vector<Phase> phases = {};
  std::vector<ContextMix> contexts = {};
  std::int64_t chunk = 0;             // tokens of a sequence that a prefill step takes; 0: all
  std::int64_t speculative = 0;       // tokens that a decode step checks beside its own
  std::int64_t page = 0;              // keys of a page of the cache; 0: not paged
  std::int64_t gpus = 1;              // that share heads and weights
  std::optional<Dtype> weights = {};  // in place of the stored format
  std::string l2 = "closed";          // model of DRAM bytes, as --l2
  std::string basis = {};             // as --basis; empty: one basis for all GPUs
  bool whole_layer = false;           // time of the matrices, too
  std::optional<double> price = {};   // of a GPU and hour
  std::size_t threads = 1;
};

// --phase --batch --context --chunk --speculative --page --tp --dtype --kernel --hardware --weights --whole-layer
// --price --as --architectures --threads
std::vector<OptionSpec> model_options();

// Reads the configuration and the options. Throws InputError.
ModelQuestion read_model_question(const std::string& config, const Options& options);

}  // namespace tilescope
