// Which keys of a configuration are read, noted or refused, and what the weights' formats become.
#include "network/config.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "network/stored_formats.h"
#include "network/test_network.h"

namespace tilescope::config_test {
namespace {

using test_network::error_of, test_network::network_of;

// 8 layers with further keys.
std::string config(const std::string& model_type, const std::string& keys) {
  return fmt::format(R"({{"model_type": "{}", "torch_dtype": "bfloat16", "hidden_size": 64, "num_attention_heads": 4,
    "vocab_size": 9, "num_hidden_layers": 8, "intermediate_size": 32, {}}})",
                     model_type, keys);
}

std::int64_t layers_with_experts(const std::string& keys) {
  const std::string experts = R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, )";
  for (const Matrices& each : network_of(config("qwen3_moe", experts + keys)).matrices)
    if (each.name == "experts up") return each.layers;
  return 0;
}

std::string config(const std::string& keys) {
  return R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 9,
    "num_hidden_layers": 2, "intermediate_size": 32)" +
         keys + "}";
}

Network quantised(const std::string& keys) {
  return network_of(config(R"(, "torch_dtype": "float16", "quantization_config": {)" + keys + "}"));
}

bool notes(const Network& network, const std::string& text) {
  return join(network.notes, "\n").find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a key that is not read and says that layers differ is refused, read as another type or not") {
  for (const char* key :
       {R"("full_attention_interval": 4)", R"("attn_layer_period": 8)", R"("attn_layer_offset": 4)",
        R"("attn_type_list": [0, 0, 0, 1, 0, 0, 0, 1])", R"("cross_attention_layers": [3])",
        R"("linear_num_key_heads": 16)", R"("mamba_d_state": 16)", R"("layers_block_type": ["mamba", "attention"])",
        R"("block_types": ["recurrent", "attention"])", R"("hybrid_override_pattern": "M-M*-")",
        R"("block_configs": [{"attention": {"n_heads_in_group": 8}}])", R"("kind_of_each": [1, 1, 1, 1, 1, 1, 1, 2])",
        R"("num_kv_shared_layers": 3)", R"("moe_layer_freq": 2)", R"("attn_config": {"kv_n_heads": 8})"}) {
    CAPTURE(key);
    CHECK(error_of(config("llama", key)).find("says that layers differ") != std::string::npos);
    CHECK(error_of(config("unheard_of", key), "llama").find("says that layers differ") != std::string::npos);
    CHECK(error_of(config("unheard_of", key)).find("(they differ: ") != std::string::npos);
  }
  CHECK(error_of(config("llama", R"("attn_layer_period": 8, "mamba_d_conv": 4)")).find("(nor mamba_d_conv)") !=
        std::string::npos);
}

TEST_CASE("a key that says nothing of layers, or says that they do not differ, is no finding") {
  for (const char* key :
       {R"("layer_norm_eps": 1e-5)", R"("attn_layer_period": 1)", R"("moe_layer_freq": 1)",
        R"("cross_attention_layers": [])", R"("linear_bias": false)", R"("attn_type_list": null)",
        R"("rope_local_base_freq": 10000)", R"("no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0])", R"("n_layers": 8)",
        R"("attn_implementation": "flash_attention_2")", R"("layerdrop": 0.0)", R"("attn_logit_softcapping": 50.0)",
        R"("query_pre_attn_scalar": 224)", R"("scale_attn_by_inverse_layer_idx": false)",
        R"("num_nextn_predict_layers": 1)", R"("eos_token_id": [1, 2])", R"("rope_scaling": {"factor": 8})"}) {
    CAPTURE(key);
    CHECK(error_of(config("llama", key)).empty());
  }
  for (const auto& entry : std::filesystem::directory_iterator(data_directory() / "models/networks"))
    if (entry.path().extension() == ".json") CHECK(error_of(read_file(entry.path())).empty());
}

TEST_CASE("layers that a list names hold experts, or do not") {
  CHECK(layers_with_experts(R"("mlp_only_layers": [])") == 8);
  CHECK(layers_with_experts(R"("mlp_only_layers": [0, 1, 7, 7])") == 5);
  CHECK(layers_with_experts(R"("decoder_sparse_step": 2, "mlp_only_layers": [0, 1, 3])") == 2);  // of 1, 3, 5, 7
  CHECK(layers_with_experts(R"("moe_layers": [1, 3, 5])") == 3);
  CHECK(layers_with_experts(R"("mlp_only_layers": [0, 1, 2, 3, 4, 5, 6, 7])") == 0);
  for (const char* wrong : {R"("mlp_only_layers": [8])", R"("mlp_only_layers": [-1])", R"("mlp_only_layers": 3)"})
    CHECK(error_of(config("qwen3_moe", std::string(R"("num_experts": 4, "num_experts_per_tok": 2, )") + wrong))
              .find("expected a list of layers, numbers from 0 to 7") != std::string::npos);
}

TEST_CASE("layers with a sliding window need its size, unless the window is switched off") {
  std::string types = R"("layer_types": ["full_attention")";
  for (int i = 1; i < 8; ++i) types += R"(, "sliding_attention")";
  types += "]";
  CHECK(error_of(config("llama", types)).find("sliding_window: is missing") != std::string::npos);
  CHECK(network_of(config("llama", types + R"(, "sliding_window": 512)")).attention.back().window == 512);
  const Network off = network_of(config("llama", types + R"(, "use_sliding_window": false)"));
  REQUIRE(off.attention.size() == 1);
  CHECK(off.attention[0].window == 0);
}

TEST_CASE("weights have the stated format: a known name is read, a missing one noted, another refused") {
  for (const auto& [name, format] : {std::pair("bfloat16", "bf16"), std::pair("float16", "fp16"),
                                     std::pair("torch.float32", "fp32"), std::pair("float8_e4m3fn", "fp8_e4m3")}) {
    const Network network = network_of(config(fmt::format(R"(, "torch_dtype": "{}")", name)));
    CHECK(network.format == format);
    CHECK(network.plain == format);
    CHECK(network.notes.empty());
    CHECK(network_of(config(fmt::format(R"(, "dtype": "{}")", name))).format == format);
  }
  for (const char* absent : {"", R"(, "torch_dtype": null)", R"(, "dtype": "auto")"}) {
    const Network network = network_of(config(absent));
    CHECK(network.format == "bf16");
    CHECK(notes(network, "states no torch_dtype: weights count as bf16; --weights gives another format"));
  }
  for (const char* unknown : {R"(, "torch_dtype": "float99")", R"(, "dtype": 16)"})
    CHECK(error_of(config(unknown)).find("--weights gives the format of the weights") != std::string::npos);
  CHECK(error_of(config(R"(, "quantization_config": [1])")).find("quantization_config: expected an object, found") !=
        std::string::npos);
}

TEST_CASE("--weights stands for a format that nobody knows, and the rest counts as bf16") {
  const std::map<std::string, std::vector<std::string>> keys;
  const nlohmann::json root = {{"torch_dtype", "float99"}};
  ConfigValues values(root, "c.json", keys, {});
  Network network;
  read_formats(root, root, true, values, network);
  CHECK_NOTHROW(values.finish());
  CHECK(network.plain == "bf16");
  CHECK(notes(network, "torch_dtype 'float99' is not known: embeddings, head, routers and vectors count as bf16"));
}

TEST_CASE("quantised weights have scales for groups as the configuration states them") {
  for (const int group : {32, 64, 128, 1024})
    for (const int bits : {4, 8}) {
      const Network network =
          quantised(fmt::format(R"("quant_method": "gptq", "bits": {}, "group_size": {})", bits, group));
      CHECK(network.format == fmt::format("int{}:g{}:b2", bits, group));
      CHECK(network.plain == "fp16");
      CHECK(network.notes.empty());
    }
  const Network rows = quantised(R"("quant_method": "awq", "bits": 4, "group_size": -1)");
  CHECK(rows.format == "int4");
  CHECK(notes(rows, "group_size -1, one scale a row of each matrix: these scales are left out"));
  const Network usual = quantised(R"("quant_method": "gptq", "bits": 4)");
  CHECK(usual.format == "int4:g128:b2");
  CHECK(notes(usual, "states no group_size: groups of 128 are counted"));
  CHECK(quantised(R"("quant_method": "fp8")").format == "fp8_e4m3");
  CHECK(notes(quantised(R"("quant_method": "gptq", "bits": 3)"), "weights count as fp16"));
  for (const char* wrong : {"0", "-2", "\"a\"", "1.5"})
    CHECK(error_of(config(fmt::format(R"(, "quantization_config": {{"bits": 4, "group_size": {}}})", wrong)))
              .find("quantization_config.group_size: expected the values of a group") != std::string::npos);
}

}  // namespace tilescope::config_test
