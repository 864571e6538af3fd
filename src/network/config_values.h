// Quantities of a model's configuration, by the names of models/networks/architectures.yaml.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope {

// Findings are collected until finish().
class ConfigValues {
 public:
  ConfigValues(const nlohmann::json& object, std::string file,
               const std::map<std::string, std::vector<std::string>>& keys,
               std::map<std::string, std::int64_t> defaults);

  // A count of at least 1: the configuration's, else the default, else nullopt. 0 and null mean absent.
  std::optional<std::int64_t> count(const std::string& quantity);
  std::optional<std::int64_t> size(const std::string& quantity);  // as count; 0 is a finding
  std::int64_t required(const std::string& quantity);             // 1 where it is missing or 0, with a finding
  std::optional<bool> flag(const std::string& key);
  std::vector<std::string> texts(const std::string& key);
  // Which of `layers` layers a list names, from 0, each once.
  std::set<std::int64_t> layer_numbers(const std::string& quantity, std::int64_t layers);
  void report(const std::string& quantity, const std::string& message);

  std::vector<std::string> found() const;  // "layers 32 (num_hidden_layers)" of every quantity that is there
  // Keys that are no quantity's, have not been asked for and say that some of `layers` layers differ.
  std::vector<std::string> unread(std::int64_t layers) const;
  void finish() const;  // throws InputError if there is any finding

 private:
  const nlohmann::json* value(const std::string& quantity) const;
  std::string key_of(const std::string& quantity) const;

  const nlohmann::json* object_;
  std::string file_;
  const std::map<std::string, std::vector<std::string>>* keys_;
  std::map<std::string, std::int64_t> defaults_;
  std::set<std::string> asked_;  // keys that are no quantity's
  std::vector<Diagnostic> findings_;
};

// Whether a key says that the model's layers differ: judged by its words and its value, because configurations of new
// architectures bring new keys: "attn_layer_period": 8, "linear_num_key_heads": 16, any list with a value for each of
// `layers` layers. A value that makes no difference (null, false, 0, an empty list, every first layer, as many as there
// are) says nothing.
bool says_layers_differ(const std::string& key, const nlohmann::json& value, std::int64_t layers);

}  // namespace tilescope
