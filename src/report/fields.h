// Typed access to one JSON object that remembers where it is and collects what is wrong.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope::report {

class Fields {
 public:
  Fields(const nlohmann::json& node, std::string path, std::vector<Diagnostic>& problems)
      : node_(node), path_(std::move(path)), problems_(problems) {
    if (!node_.is_object()) complain(path_, "an object", node_);
  }

  // Absent or null: empty. `required` makes that a problem.
  std::string text(const std::string& key, bool required = false) const {
    const nlohmann::json* value = find(key, required, "a string");
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    complain(at(key), "a string", *value);
    return {};
  }

  std::optional<double> number(const std::string& key, bool required = false) const {
    const nlohmann::json* value = find(key, required, "a number");
    if (value == nullptr) return std::nullopt;
    if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    complain(at(key), "a finite number", *value);
    return std::nullopt;
  }

  bool boolean(const std::string& key, bool otherwise) const {
    const nlohmann::json* value = find(key, false, "");
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    complain(at(key), "true or false", *value);
    return otherwise;
  }

  // The object under `key`, or nothing when it is absent or null.
  std::optional<Fields> object(const std::string& key, bool required = false) const {
    const nlohmann::json* value = find(key, required, "an object");
    if (value == nullptr) return std::nullopt;
    if (value->is_object()) return Fields(*value, at(key), problems_);
    complain(at(key), "an object", *value);
    return std::nullopt;
  }

  // Calls `read(Fields)` for every object of the list under `key`.
  template <typename Read>
  void each(const std::string& key, bool required, Read read) const {
    const nlohmann::json* value = find(key, required, "a list");
    if (value == nullptr) return;
    if (!value->is_array()) return complain(at(key), "a list", *value);
    for (std::size_t i = 0; i < value->size(); ++i) {
      const std::string place = fmt::format("{}[{}]", at(key), i);
      if (value->at(i).is_object()) read(Fields(value->at(i), place, problems_));
      else complain(place, "an object", value->at(i));
    }
  }

  std::vector<std::string> texts(const std::string& key) const {
    std::vector<std::string> out;
    const nlohmann::json* value = find(key, false, "");
    if (value == nullptr) return out;
    if (!value->is_array()) complain(at(key), "a list of strings", *value);
    else
      for (const auto& item : *value) {
        if (item.is_string()) out.push_back(item.get<std::string>());
        else complain(at(key), "a list of strings", item);
      }
    return out;
  }

  const nlohmann::json& node() const { return node_; }
  void complain(const std::string& where, const std::string& expected, const nlohmann::json& found) const {
    const std::string what =
        found.is_string() || found.is_object() || found.is_array() ? found.type_name() : found.dump();
    problems_.push_back(
        {.file = "report data", .path = where, .message = fmt::format("expected {}, found {}", expected, what)});
  }
  std::string at(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  const nlohmann::json* find(const std::string& key, bool required, const std::string& expected) const {
    if (node_.is_object()) {
      const auto found = node_.find(key);
      if (found != node_.end() && !found->is_null()) return &*found;
    }
    if (required)
      problems_.push_back(
          {.file = "report data", .path = at(key), .message = fmt::format("missing; expected {}", expected)});
    return nullptr;
  }

  const nlohmann::json& node_;
  std::string path_;
  std::vector<Diagnostic>& problems_;
};

}  // namespace tilescope::report
