#include "network/stored_formats.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/text.h"
#include "network/test_network.h"

namespace tilescope::stored_formats_test {
namespace {

using test_network::error_of, test_network::known, test_network::network_of;

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

}  // namespace tilescope::stored_formats_test
