#include "network/stored_formats.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/text.h"

namespace tilescope {
namespace {

constexpr const char* assumed_plain = "bf16";

struct Spelling {
  std::string_view name, format;
};
constexpr std::array<Spelling, 8> spellings{{{"bfloat16", "bf16"},
                                             {"float16", "fp16"},
                                             {"half", "fp16"},
                                             {"float32", "fp32"},
                                             {"float", "fp32"},
                                             {"float8_e4m3fn", "fp8_e4m3"},
                                             {"float8_e5m2", "fp8_e5m2"},
                                             {"int8", "int8"}}};

// The first of the keys that is there, in the language model's part or in the whole configuration.
struct Stated {
  std::string key = {};
  const nlohmann::json* value = nullptr;
};
Stated stated(const nlohmann::json& root, const nlohmann::json& part, std::initializer_list<const char*> keys) {
  for (const nlohmann::json* object : {&part, &root})
    for (const char* key : keys)
      if (const auto found = object->find(key); found != object->end() && !found->is_null()) return {key, &*found};
  return {};
}

// Of what is not quantised.
std::string plain_format(const nlohmann::json& root, const nlohmann::json& part, bool others_known,
                         ConfigValues& values, Network& network) {
  const auto [key, value] = stated(root, part, {"dtype", "torch_dtype"});
  const std::string counted = others_known ? "embeddings, head, routers and vectors count as bf16"
                                           : "weights count as bf16; --weights gives another format";
  if (!value || *value == "auto") {
    network.notes.push_back("the configuration states no torch_dtype: " + counted);
    return assumed_plain;
  }
  std::string name = value->is_string() ? value->get<std::string>() : "";
  if (name.starts_with("torch.")) name = name.substr(6);
  for (const auto& [spelling, format] : spellings)
    if (name == spelling) return std::string(format);
  const std::string found = shown_text(value->is_string() ? value->get<std::string>() : value->dump());
  if (others_known) {
    network.notes.push_back(fmt::format("{} {} is not known: {}", key, found, counted));
  } else {
    std::vector<std::string> known;
    for (const Spelling& each : spellings) known.emplace_back(each.name);
    values.report(key, fmt::format("expected one of {}, found {}; --weights gives the format of the weights",
                                   join(known, ", "), found));
  }
  return assumed_plain;
}

// Values of a row that share a scale; 0: all of them. GPTQ and AWQ write -1 for that.
std::int64_t group_of(const nlohmann::json& quantisation, ConfigValues& values, Network& network) {
  constexpr std::int64_t usual = 128, most = 1 << 20;  // usual: of transformers' GPTQConfig and AwqConfig
  const auto size = quantisation.find("group_size");
  if (size == quantisation.end() || size->is_null()) {
    network.notes.push_back(fmt::format("quantization_config states no group_size: groups of {} are counted", usual));
    return usual;
  }
  if (size->is_number_integer() && *size >= 1 && *size <= most) return size->get<std::int64_t>();
  if (*size == -1)
    network.notes.emplace_back("group_size -1, one scale a row of each matrix: these scales are left out");
  else
    values.report(
        "quantization_config.group_size",
        fmt::format("expected the values of a group, from 1 to {}, or -1, found {}", most, shown_text(size->dump())));
  return 0;
}

// Returns false where the method is not known.
bool read_quantised(const nlohmann::json& quantisation, ConfigValues& values, Network& network) {
  const auto method = quantisation.find("quant_method"), bits = quantisation.find("bits");
  const auto integer = [&](const auto& found) {
    return found != quantisation.end() && found->is_number_integer() ? found->template get<std::int64_t>() : 0;
  };
  const auto is = [&](const char* name) { return method != quantisation.end() && *method == name; };
  if (is("fp8") || is("fbgemm_fp8")) {
    network.format = "fp8_e4m3";
  } else if (is("mxfp4")) {
    network.format = "mxfp4", network.only_experts = true;
  } else if (const std::int64_t width = integer(bits); width == 4 || width == 8) {
    const std::int64_t group = group_of(quantisation, values, network);
    network.format = (width == 4 ? "int4" : "int8") + (group > 0 ? fmt::format(":g{}:b2", group) : "");
  } else {
    return false;
  }
  return true;
}

}  // namespace

void read_formats(const nlohmann::json& root, const nlohmann::json& part, bool weights_given, ConfigValues& values,
                  Network& network) {
  const auto [key, quantisation] = stated(root, part, {"quantization_config"});
  bool quantised = false;
  if (quantisation && !quantisation->is_object())
    values.report(key, fmt::format("expected an object, found {}", shown_text(quantisation->dump())));
  else if (quantisation && !weights_given) quantised = read_quantised(*quantisation, values, network);
  network.plain = plain_format(root, part, quantised || weights_given, values, network);
  if (quantised) return;
  network.format = network.plain;
  if (!quantisation || !quantisation->is_object() || weights_given) return;
  const auto method = quantisation->find("quant_method");
  network.notes.push_back(
      fmt::format("quantization_config of method {} is not known: weights count as {}; --weights gives another format",
                  shown_text(method == quantisation->end() ? ""
                             : method->is_string()         ? method->get<std::string>()
                                                           : method->dump()),
                  network.plain));
}

}  // namespace tilescope
