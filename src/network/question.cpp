#include "network/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/checked.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "diagram/workload.h"
#include "hardware/derived.h"
#include "network/config.h"
#include "request/crossed.h"

namespace tilescope {
namespace {

// "8k", "8k:48+32k:16"; without a number of sequences: `batch`.
ContextMix read_mix(const std::string& text, std::int64_t batch) {
  ContextMix mix{.text = text, .lengths = {}};
  for (const std::string& part : split(text, '+')) {
    const std::vector<std::string> words = split(part, ':');
    const auto context = parse_count(words[0]);
    const auto sequences = words.size() == 2 ? parse_count(words[1]) : std::optional(batch);
    if (words.size() > 2 || !context || !sequences || *context < 1 || *sequences < 1 || *context > largest_extent ||
        *sequences > largest_extent)
      refuse("--context", fmt::format("expected a length, as in 32k, or lengths with numbers of sequences, as in "
                                      "8k:48+32k:16, found {}",
                                      shown_text(text)));
    mix.lengths.push_back({*context, *sequences});
  }
  return mix;
}

std::vector<std::string> listed(const Options& options, const std::string& name, char separator) {
  std::vector<std::string> values;
  for (const std::string& given : options.all(name))
    for (const std::string& value : split(given, separator)) {
      if (value.empty()) refuse("--" + name, fmt::format("holds an empty value: {}", shown_text(given)));
      values.push_back(value);
    }
  return values;
}

std::optional<double> read_price(const Options& options) {
  const auto text = options.text("price");
  if (!text) return std::nullopt;
  double price = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), price);
  if (error != std::errc{} || end != text->data() + text->size() || !std::isfinite(price) || price < 0)
    refuse("--price", "expected the price of a GPU and hour, as in 2.5, found " + shown_text(*text));
  return price;
}

std::vector<std::string> gpus_of(const Options& options) {
  std::vector<std::string> gpus = listed_gpus(options);
  if (gpus.empty()) refuse("--hardware", "is missing: give GPUs, as in --hardware h100_sxm,h200_sxm, or all");
  return gpus;
}

// 8k, or what the model takes at most.
std::string usual_context(const Network& network) {
  constexpr std::int64_t usual = 8192;
  const std::int64_t tokens = network.context > 0 ? std::min(usual, network.context) : usual;
  return tokens % 1024 == 0 ? fmt::format("{}k", tokens / 1024) : std::to_string(tokens);
}

// The heads of a group on one GPU.
void check_split(const Network& network, std::int64_t gpus) {
  for (const AttentionGroup& group : network.attention) {
    if (group.heads_q % gpus != 0)
      refuse("--tp", fmt::format("{} query heads cannot be divided among {} GPUs", group.heads_q, gpus));
    if (!group.is_latent() && group.heads_kv % gpus != 0 && gpus % group.heads_kv != 0)
      refuse("--tp", fmt::format("{} KV heads and {} GPUs: one must divide the other", group.heads_kv, gpus));
  }
}

}  // namespace

std::int64_t ContextMix::sequences() const {
  std::int64_t sum = 0;
  for (const SequenceLength& each : lengths) sum = checked_add(sum, each.sequences);
  return sum;
}

std::int64_t ContextMix::tokens() const {
  std::int64_t sum = 0;
  for (const SequenceLength& each : lengths) sum = checked_add(sum, checked_mul(each.sequences, each.context));
  return sum;
}

std::int64_t ContextMix::longest() const {
  std::int64_t longest = 0;
  for (const SequenceLength& each : lengths) longest = std::max(longest, each.context);
  return longest;
}

std::vector<OptionSpec> model_options() {
  return {{"hardware", "GPU profile ids or YAML files, by commas; all: every shipped profile", Value::hardware},
          set_option(),
          {"phase", "prefill, decode or both (default both)", Value::choice, {"prefill", "decode", "both"}},
          {"batch", "sequences of a step (default 1)", Value::count},
          {"context",
           "tokens of a sequence, a list by commas (default 8k, or what the model takes at most); a mix of lengths is "
           "8k:48+32k:16"},
          {"chunk", "tokens of a sequence that a prefill step takes (default: the whole prompt)", Value::count},
          {"speculative", "drafted tokens that a decode step checks beside its own (default 0)", Value::count},
          {"page", "keys of a page of the KV cache (default: not paged)", Value::count},
          {"tp", "GPUs that share heads and weights (tensor parallelism; default 1)", Value::count},
          {"dtype", "formats of the attention, as in predict: fp16 or fp16,kv=int8; may be repeated (default fp16)"},
          {"kernel",
           "auto (default): the fastest kernel that exists for the GPU, or an ideal one where none does; ideal; or a "
           "kernel's name; a list by commas",
           Value::kernel},
          {"weights", "format of the weights (default: as the configuration says)"},
          {"l2",
           "model of DRAM bytes, as in predict; default closed, because a model takes many predictions",
           Value::choice,
           {"walk", "closed"}},
          {"basis", "rates of the GPUs, as in compare (default: one basis for all)", Value::choice,
           kind_names<RatesFrom>()},
          {"whole-layer", "adds the least time that the other matrices of a layer take: bytes moved once, or FLOP",
           Value::flag},
          {"price", "price of a GPU and hour, for the cost of a million tokens"},
          {"as", "read the configuration as this model_type"},
          {"architectures", "file of architectures in place of models/networks/architectures.yaml", Value::file},
          threads_option()};
}

namespace {

// Throws InputError, with the near ones, for what is neither a file nor a name in models/networks.
void refuse_unknown_network(const std::string& config, const std::filesystem::path& shipped) {
  std::error_code ignored;
  if (config.find('/') != std::string::npos || config.ends_with(".json") || std::filesystem::exists(config, ignored))
    return;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shipped, ignored))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  refuse("model",
         fmt::format("no file, and no name in models/networks: {}{}", shown_text(config), did_you_mean(config, names)));
}

}  // namespace

ModelQuestion read_model_question(const std::string& config, const Options& options) {
  const auto architectures = options.text("architectures");
  const Architectures known = load_architectures(
      architectures ? std::filesystem::path(*architectures) : data_directory() / "models/networks/architectures.yaml");
  const std::filesystem::path shipped = data_directory() / "models/networks" / (config + ".json");
  std::error_code ignored;
  const bool is_shipped = config.find('/') == std::string::npos && std::filesystem::exists(shipped, ignored);
  if (!is_shipped) refuse_unknown_network(config, shipped.parent_path());
  ModelQuestion question{.network = read_network(is_shipped ? shipped : std::filesystem::path(config), known,
                                                 options.text("as"), options.has("weights"))};
  question.hardware = gpus_of(options);
  question.dtypes = options.all("dtype");
  if (question.dtypes.empty()) question.dtypes.emplace_back("fp16");
  question.kernels = listed(options, "kernel", ',');
  if (question.kernels.empty()) question.kernels.emplace_back("auto");
  const std::string phase = options.text("phase").value_or("both");
  if (phase != "decode") question.phases.push_back(Phase::prefill);
  if (phase != "prefill") question.phases.push_back(Phase::decode);
  for (const auto& [option, other] : {std::pair("chunk", "prefill"), std::pair("speculative", "decode")})
    if (options.has(option) && phase != "both" && phase != other)
      refuse(fmt::format("--{}", option),
             fmt::format("is of the phase {}, found --phase {}; leave it out", other, phase));
  const std::int64_t batch = options.integer("batch", 1, largest_extent).value_or(1);
  const std::vector<std::string> contexts = listed(options, "context", ',');
  for (const std::string& text : contexts.empty() ? std::vector{usual_context(question.network)} : contexts)
    question.contexts.push_back(read_mix(text, batch));
  question.chunk = options.integer("chunk", 1, largest_extent).value_or(0);
  question.speculative = options.integer("speculative", 0, 4096).value_or(0);
  question.page = options.integer("page", 1, largest_extent).value_or(0);
  question.gpus = options.integer("tp", 1, 1 << 20).value_or(1);
  check_split(question.network, question.gpus);
  if (const auto weights = options.text("weights")) {
    question.weights = parse_dtype(*weights);
    if (!question.weights)
      refuse("--weights", "expected a format, as in fp8 or int4:g128:b2, found " + shown_text(*weights));
  }
  question.l2 = options.text("l2").value_or("closed"), question.basis = options.text("basis").value_or("");
  question.whole_layer = options.has("whole-layer");
  question.price = read_price(options), question.threads = threads_of(options);
  return question;
}

}  // namespace tilescope
