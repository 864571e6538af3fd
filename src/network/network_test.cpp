#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/checked.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/files.h"
#include "base/test_seed.h"
#include "base/text.h"
#include "network/calls.h"
#include "network/config.h"
#include "network/layer_time.h"
#include "network/memory.h"
#include "network/model.h"
#include "network/test_network.h"
#include "request/answer.h"

namespace tilescope::network_test {
namespace {

using test_network::error_of, test_network::known, test_network::network_of;

Network shipped_network(const std::string& name) {
  return read_network(data_directory() / "models/networks" / (name + ".json"), known());
}

// A question that only sizes matter to.
ModelQuestion question_of(Network network) {
  ModelQuestion question;
  question.network = std::move(network);
  question.hardware = {"h200_sxm"}, question.dtypes = {"fp16"}, question.kernels = {"auto"};
  return question;
}

// Whether query `i` sees key `j`, as the model's own code defines it.
bool sees(const AttentionGroup& group, std::int64_t i, std::int64_t j) {
  if (j > i) return false;
  if (group.window > 0) return i - j < group.window;
  return group.chunk == 0 || i / group.chunk == j / group.chunk;
}

// Pairs of query and key that a call's mask leaves.
std::int64_t pairs_of(const AttentionCall& call) {
  const Workload& w = call.workload;
  std::int64_t pairs = 0;
  const std::int64_t window = call.mask.starts_with("window:") ? std::stoll(call.mask.substr(7)) : w.kv_len;
  for (std::int64_t q = 0; q < w.q_len; ++q) {
    const std::int64_t own = q + w.kv_len - w.q_len;
    pairs += call.mask == "none" ? w.kv_len : std::min(own + 1, window);
  }
  return pairs * w.batch * call.times;
}

}  // namespace

// Sizes of the published checkpoints (model.safetensors.index.json or the authors' papers).
TEST_CASE("the values of a configuration's matrices are as many as its published checkpoint holds") {
  const std::vector<std::pair<std::string, std::int64_t>> published{
      {"llama-2-7b", 6738415616},       {"llama-3-8b", 8030261248},
      {"llama-3-70b", 70553706496},     {"mistral-7b", 7241732096},
      {"mixtral-8x7b", 46702792704},    {"qwen2.5-7b", 7615616512},
      {"gemma-2-9b", 9241705984},       {"gpt2", 124439808},
      {"falcon-7b", 6921720704},        {"phi-3-mini", 3821079552},
      {"gpt-oss-120b", 116829156672},   {"qwen3-30b-a3b", 30532122624},
      {"deepseek-v2-lite", 15706484224}};
  for (const auto& [name, values] : published) {
    CAPTURE(name);
    CHECK(shipped_network(name).parameters() == values);
  }
  // Without the 256 biases of the router in each of 58 layers, which are not trained weights of a matrix.
  CHECK(shipped_network("deepseek-v3").parameters() == 671026419200 - 58 * 256);
}

TEST_CASE("layers are grouped by what their queries see") {
  const Network gemma = shipped_network("gemma-3-27b");
  REQUIRE(gemma.attention.size() == 2);
  CHECK(gemma.attention[0].layers == 10);  // every sixth of 62
  CHECK(gemma.attention[1].window == 1024);
  const Network scout = shipped_network("llama-4-scout");
  REQUIRE(scout.attention.size() == 2);
  CHECK(scout.attention[0].layers == 12);
  CHECK(scout.attention[1].chunk == 8192);
  const Network qwen = shipped_network("qwen2.5-7b");  // has a window that is switched off
  REQUIRE(qwen.attention.size() == 1);
  CHECK(qwen.attention[0].window == 0);
  CHECK(shipped_network("falcon-7b").attention[0].heads_kv == 1);
  CHECK(shipped_network("deepseek-v3").attention[0].latent == 512);
}

TEST_CASE("the calls of a prompt and of a decode step cover each visible pair of query and key once") {
  std::mt19937_64 random(test_seed());
  const auto upto = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  for (int round = 0; round < 300; ++round) {
    AttentionGroup group{.name = "g", .layers = 1, .heads_q = 4, .heads_kv = 2, .head_dim = 8, .v_head_dim = 8};
    if (const auto kind = random() % 3; kind == 1) group.window = upto(40);
    else if (kind == 2) group.chunk = upto(40);
    ModelQuestion question = question_of({});
    question.chunk = random() % 2 ? upto(50) : 0;
    const std::int64_t context = upto(90), sequences = upto(3);
    question.speculative = std::min<std::int64_t>(context - 1, upto(4) - 1);
    const ContextMix mix{"", {{context, sequences}}};
    CAPTURE(group.window);
    CAPTURE(group.chunk);
    CAPTURE(question.chunk);
    CAPTURE(context);
    CAPTURE(question.speculative);
    for (const Phase phase : {Phase::prefill, Phase::decode}) {
      std::int64_t expected = 0, counted = 0, queries = 0;
      const std::int64_t first = phase == Phase::prefill ? 0 : context - 1 - question.speculative;
      for (std::int64_t i = first; i < context; ++i)
        for (std::int64_t j = 0; j < context; ++j) expected += sequences * sees(group, i, j);
      for (const AttentionCall& call : calls_of(group, phase, mix, question)) {
        counted += pairs_of(call), queries += call.workload.batch * call.workload.q_len * call.times;
        CHECK(call.workload.violations().empty());
      }
      CHECK(counted == expected);
      CHECK(queries == sequences * (context - first));
    }
  }
}

TEST_CASE("a cache holds what later queries may see, key by key") {
  std::mt19937_64 random(test_seed());
  const auto upto = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  for (int round = 0; round < 40; ++round) {
    Network network;
    AttentionGroup group{.name = "g", .layers = upto(5), .heads_q = 8, .heads_kv = 2, .head_dim = 16, .v_head_dim = 8};
    if (random() % 2) group.window = upto(30);
    network.attention = {group};
    ModelQuestion question = question_of(network);
    question.page = random() % 2 ? upto(9) : 0;
    const std::int64_t context = upto(60), page = std::max<std::int64_t>(1, question.page);
    std::int64_t keys = 0;  // the last query's
    for (std::int64_t j = 0; j < context; ++j) keys += sees(group, context - 1, j);
    const std::int64_t bytes = group.layers * ((keys + page - 1) / page * page) * 2 * (16 + 8) * 2;
    const KvCache cache(question, "fp16");
    CHECK(cache.bytes_of_sequence(context) == bytes);
    const std::int64_t room = bytes * upto(6) + upto(100) - 1;
    const auto longest = cache.longest_context(2, room);
    REQUIRE((longest.has_value() || 2 * cache.bytes_of_sequence(1) > room));
    if (!longest) continue;
    CHECK(2 * cache.bytes_of_sequence(*longest) <= room);
    if (*longest < largest_extent) CHECK(2 * cache.bytes_of_sequence(*longest + 1) > room);
    const auto batch = cache.largest_batch({"", {{context, 3}}}, room);
    CHECK(batch.value_or(0) == room / bytes);
  }
}

TEST_CASE("tensor parallelism divides heads and repeats KV heads when they run out") {
  ModelQuestion question = question_of(shipped_network("llama-3-70b"));
  const std::int64_t whole = KvCache(question, "fp16").bytes_of_token();
  CHECK(whole == 2 * 8 * 128 * 2 * 80);
  question.gpus = 8;
  CHECK(KvCache(question, "fp16").bytes_of_token() == whole / 8);
  question.gpus = 16;
  CHECK(KvCache(question, "fp16").bytes_of_token() == whole / 8);
  ModelQuestion latent = question_of(shipped_network("deepseek-v3"));
  CHECK(KvCache(latent, "bf16").bytes_of_token() == 576 * 2 * 61);
  latent.gpus = 8;
  CHECK(KvCache(latent, "bf16").bytes_of_token() == 576 * 2 * 61);
}

TEST_CASE("a model's time is that of predict, layer by layer") {
  ModelQuestion question = question_of(shipped_network("mistral-7b"));
  question.phases = {Phase::prefill, Phase::decode};
  question.contexts = {{"6k", {{6144, 2}}}};
  const auto rows = model_rows(question);
  REQUIRE(rows.size() == 2);
  const auto seconds = [](std::vector<std::pair<std::string, std::string>> given) {
    Options options;
    for (const auto& [name, value] : given) options = options.with(name, value);
    const TimePrediction time = answer(options).prediction.time;
    const double dram = time.seconds[static_cast<std::size_t>(Resource::hbm)];  // other layers ran in between
    return std::max(time.total, dram);
  };
  const double prefill = seconds({{"hardware", "h200_sxm"},
                                  {"kernel", "auto"},
                                  {"batch", "2"},
                                  {"heads-q", "32"},
                                  {"heads-kv", "8"},
                                  {"q-len", "6144"},
                                  {"kv-len", "6144"},
                                  {"head-dim", "128"},
                                  {"mask", "window:4096"},
                                  {"dtype", "fp16"},
                                  {"l2", "closed"}});
  CHECK(rows[0].attention_seconds == doctest::Approx(32 * prefill).epsilon(1e-12));
  const double decode = seconds({{"hardware", "h200_sxm"},
                                 {"kernel", "auto"},
                                 {"batch", "2"},
                                 {"heads-q", "32"},
                                 {"heads-kv", "8"},
                                 {"q-len", "1"},
                                 {"kv-len", "4096"},
                                 {"head-dim", "128"},
                                 {"dtype", "fp16"},
                                 {"l2", "closed"}});
  CHECK(rows[1].attention_seconds == doctest::Approx(32 * decode).epsilon(1e-12));
}

TEST_CASE("the rows of a model do not depend on the number of threads") {
  std::mt19937 random(test_seed());
  const std::vector<std::string> gpus{"h100_sxm", "l40s", "mi300x", "b200_sxm", "a100_sxm_80", "rtx4090"},
      dtypes{"fp16", "bf16", "fp8_e4m3", "fp16,kv=int8:g64:b2", "fp16,kv=int4:g64:b2"},
      kernels{"auto", "ideal", "split_kv"}, models{"llama-3-8b", "gemma-2-9b", "deepseek-v2-lite"};
  const auto some = [&](const std::vector<std::string>& all) {
    std::vector<std::string> drawn = all;
    std::shuffle(drawn.begin(), drawn.end(), random);
    drawn.resize(2);
    return drawn;
  };
  for (int draw = 0; draw < 2; ++draw) {
    ModelQuestion question = question_of(shipped_network(models[random() % models.size()]));
    question.hardware = some(gpus), question.dtypes = some(dtypes), question.kernels = some(kernels);
    question.phases = {Phase::prefill, Phase::decode};
    question.contexts = {{"3k", {{3000, 2}}}};
    const std::string alone = model_json(question, model_rows(question)).dump();
    question.threads = 2 + random() % 6;
    std::size_t last = 0;
    CHECK(model_json(question, model_rows(question,
                                          [&](std::size_t done, std::size_t) {
                                            CHECK(done > last);
                                            last = done;
                                          }))
              .dump() == alone);
    CHECK(last == 16);
  }
}

// validate/matmul/h100_sxm.csv: torch.matmul (PyTorch 2.11, CUDA 13.0) on an H100 SXM, 108 matrices.
// docs/language-models.md states these numbers.
TEST_CASE("the least time of a matrix stands below the measured one, by the stated factor") {
  ModelQuestion question = question_of({});
  std::istringstream table(read_file(data_directory() / "validate/matmul/h100_sxm.csv"));
  std::string line;
  std::getline(table, line);
  REQUIRE(line == "dtype,rows,summed,columns,seconds");
  std::vector<double> factors;
  for (LayerTimes fp16(question, "h100_sxm", "", "fp16", "auto"); std::getline(table, line);) {
    const std::vector<std::string> cells = split(line, ',');
    const CallTime& least = fp16.of_matmul(std::stoll(cells[1]), std::stoll(cells[2]), std::stoll(cells[3]));
    factors.push_back(std::stod(cells[4]) / least.least_seconds);
  }
  REQUIRE(factors.size() == 108);
  std::sort(factors.begin(), factors.end());
  CHECK(factors[0] >= 1);
  CHECK(factors[54] == doctest::Approx(1.32).epsilon(0.01));
  CHECK(factors[97] == doctest::Approx(1.76).epsilon(0.01));
  CHECK(factors[107] == doctest::Approx(7.62).epsilon(0.01));
}

TEST_CASE("a configuration that cannot be read says what was understood and what to give") {
  CHECK(error_of(R"({"model_type": "llamo", "hidden_size": 64, "num_hidden_layers": 2})")
            .find("understood of this file: hidden 64 (hidden_size), layers 2 (num_hidden_layers)") !=
        std::string::npos);
  CHECK(error_of(R"({"model_type": "llamo"})").find("did you mean 'llama'?") != std::string::npos);
  CHECK(error_of(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 9})")
            .find("num_hidden_layers or n_layer or num_layers: is missing: the model's layers") != std::string::npos);
  CHECK(error_of(R"({"model_type": "llama", "hidden_size": -3, "num_attention_heads": 4})")
            .find("hidden_size: expected an integer from 0 to") != std::string::npos);
  for (const char* key : {"num_hidden_layers", "num_key_value_heads", "head_dim", "vocab_size", "intermediate_size"}) {
    std::map<std::string, int> sizes{
        {"hidden_size", 64}, {"num_attention_heads", 4}, {"vocab_size", 9}, {"num_hidden_layers", 2}};
    sizes[key] = 0;
    std::string text = R"({"model_type": "llama")";
    for (const auto& [name, size] : sizes) text += fmt::format(R"(, "{}": {})", name, size);
    CHECK(error_of(text + "}").find(fmt::format("{}: expected an integer from 1 to 2147483648, found 0", key)) !=
          std::string::npos);
  }
  CHECK(error_of("[1, 2]").find("a model's configuration") != std::string::npos);
  const std::string base = R"({"model_type": "gpt_oss", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 9,
    "num_hidden_layers": 2, "intermediate_size": 8, "num_local_experts": 4, "num_experts_per_tok": 9)";
  CHECK(error_of(base + R"(, "layer_types": ["full_attention"]})").find("names 1 layers; the model has 2") !=
        std::string::npos);
  CHECK(error_of(base + "}").find("expected at most 4 experts, found 9") != std::string::npos);
  CHECK(error_of(base + R"(, "layer_types": ["full_attention", "linear_attention"]})").find("linear_attention") !=
        std::string::npos);
}

TEST_CASE("a context past the model's maximum does not fit and has no time, whatever the memory") {
  ModelQuestion question = question_of(shipped_network("gpt2"));
  question.hardware = {"h200_sxm"}, question.phases = {Phase::decode};
  REQUIRE(question.network.context == 1024);
  question.contexts = {{"1k", {{1024, 1}}}, {"1k:1+1025:1", {{1024, 1}, {1025, 1}}}};
  const auto rows = model_rows(question);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].fits());
  CHECK(rows[0].reason.empty());
  CHECK_FALSE(rows[1].fits());
  CHECK(rows[1].reason == "past the model's maximum of 1,024 tokens");
  const auto json = model_json(question, rows)["rows"][1];
  CHECK(json["fits"] == false);
  CHECK(json["attention_seconds"].is_null());
  Options options;
  options = options.with("hardware", "h200_sxm");
  CHECK(read_model_question("gpt2", options).contexts.front().text == "1k");
  CHECK(read_model_question("llama-3-8b", options).contexts.front().text == "8k");
}

TEST_CASE("a model of more layers than any has is refused before they are listed") {
  const std::string file = TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/network/two_billion_layers.json";
  CHECK(error_of(read_file(file)).find("expected at most 100000 layers, found 2147483648") != std::string::npos);
}

TEST_CASE("every mutated configuration is read or refused, and its numbers stay finite and positive") {
  std::mt19937_64 random(test_seed());
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(data_directory() / "models/networks"))
    if (entry.path().extension() == ".json") texts.push_back(read_file(entry.path()));
  REQUIRE(texts.size() >= 12);
  std::sort(texts.begin(), texts.end());
  int read = 0, refused = 0;
  const std::string pieces = "0123456789{}[]\",:-enul.";
  for (int round = 0; round < 1500; ++round) {
    std::string text = texts[random() % texts.size()];
    for (std::uint64_t n = random() % 3 + 1; n > 0; --n) {
      const std::size_t at = random() % text.size();
      if (random() % 2) text[at] = pieces[random() % pieces.size()];
      else text.erase(at, random() % 6 + 1);
    }
    try {
      const Network network = network_of(text);
      ++read;
      CHECK(network.parameters() > 0);
      for (const AttentionGroup& group : network.attention) {
        CHECK(group.layers > 0);
        CHECK(group.heads_q % group.heads_kv == 0);
      }
    } catch (const InputError&) {
      ++refused;
    } catch (const CountOverflow&) {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}

}  // namespace tilescope::network_test
