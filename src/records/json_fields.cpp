#include "records/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace tilescope::validate {
namespace {

const nlohmann::json nothing = nlohmann::json::object();
constexpr std::size_t most_nesting = 32;

// What a text has outside strings.
struct Structure {
  std::size_t depth = 0, members = 0;  // brackets open at once; colons, one a member of an object
};

Structure structure_of(std::string_view text) {
  Structure found;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    else if (c == '"') in_string = !in_string;
    else if (in_string) continue;
    else if (c == ':') ++found.members;
    else if (c == '{' || c == '[') found.depth = std::max(found.depth, ++depth);
    else if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return found;
}

std::size_t members_of(const nlohmann::json& value) {
  std::size_t members = value.is_object() ? value.size() : 0;
  if (value.is_structured())
    for (const nlohmann::json& each : value) members += members_of(each);
  return members;
}

// A key that is there twice in one object; empty: there is none.
std::string repeated_key(std::string_view text) {
  std::vector<std::set<std::string>> open_objects;
  std::string repeated;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open_objects.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second)
      repeated = parsed.get<std::string>();
    return true;
  };
  [[maybe_unused]] const auto json = nlohmann::json::parse(text, watch, false);
  return repeated;
}

// `byte` counts from 1.
[[noreturn]] void refuse_at(std::string_view text, std::size_t byte, const std::string& file, std::string message) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1: 0
  throw InputError(Diagnostic{.file = file,
                              .line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
                              .column = std::max(1, static_cast<int>(before.size() - start)),
                              .message = std::move(message)});
}

// The value as a message shows it: short, whatever was in the file.
std::string shown(const nlohmann::json& value) {
  std::string text = value.dump();
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& value, std::string file, std::string path,
                       std::vector<Diagnostic>& findings)
    : value_(&value), file_(std::move(file)), path_(std::move(path)), findings_(&findings) {}

void JsonFields::report(const std::string& key, const std::string& message) const {
  findings_->push_back({.file = file_, .path = path_.empty() ? key : path_ + "." + key, .message = message});
}

bool JsonFields::has(const std::string& key) const { return value_->contains(key); }

bool JsonFields::holds_text(const std::string& key) const {
  const auto found = value_->find(key);
  return found != value_->end() && found->is_string();
}

std::vector<std::string> JsonFields::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : value_->items()) names.push_back(key);
  return names;
}

const nlohmann::json* JsonFields::find(const std::string& key) const {
  const auto found = value_->find(key);
  if (found != value_->end()) return &*found;
  report(key, "is missing; the file is incomplete or of another kind");
  return nullptr;
}

JsonFields JsonFields::object(const std::string& key) const {
  const nlohmann::json* value = find(key);
  const std::string path = path_.empty() ? key : path_ + "." + key;
  if (value != nullptr && !value->is_object()) report(key, "expected an object, found " + shown(*value));
  return {value != nullptr && value->is_object() ? *value : nothing, file_, path, *findings_};
}

std::vector<JsonFields> JsonFields::objects(const std::string& key) const {
  std::vector<JsonFields> all;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) {
    report(key, "expected a list of objects, found " + shown(*value));
    return all;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    const nlohmann::json& item = (*value)[i];
    const std::string name = fmt::format("{}[{}]", key, i);
    if (item.is_object()) all.emplace_back(item, file_, path_.empty() ? name : path_ + "." + name, *findings_);
    else report(name, "expected an object, found " + shown(item));
  }
  return all;
}

std::string JsonFields::text(const std::string& key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return {};
  if (value->is_string() && !value->get_ref<const std::string&>().empty()) return value->get<std::string>();
  report(key, "expected a text, found " + shown(*value));
  return {};
}

// `key`: names the value, and is called where something is wrong with it.
template <class Key>
bool JsonFields::is_amount(const Key& key, const nlohmann::json& value) const {
  if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0) return true;
  report(key(), "expected a finite number that is not negative, found " + shown(value));
  return false;
}

double JsonFields::number(const std::string& key) const {
  const nlohmann::json* value = find(key);
  return value != nullptr && is_amount([&] { return key; }, *value) ? value->get<double>() : 0;
}

bool JsonFields::is_count(const std::string& key, const nlohmann::json& value, std::int64_t least) const {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (fits && value.get<std::int64_t>() >= least) return true;
  report(key, fmt::format("expected an integer of at least {}, found {}", least, shown(value)));
  return false;
}

std::int64_t JsonFields::integer(const std::string& key, std::int64_t least) const {
  const nlohmann::json* value = find(key);
  return value != nullptr && is_count(key, *value, least) ? value->get<std::int64_t>() : least;
}

bool JsonFields::boolean(const std::string& key) const {
  const nlohmann::json* value = find(key);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  if (value != nullptr) report(key, "expected true or false, found " + shown(*value));
  return false;
}

std::vector<double> JsonFields::numbers(const std::string& key) const {
  std::vector<double> all;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) report(key, "expected a list of numbers, found " + shown(*value));
  else
    for (std::size_t i = 0; i < value->size(); ++i) {
      if (is_amount([&] { return fmt::format("{}[{}]", key, i); }, (*value)[i]))
        all.push_back((*value)[i].get<double>());
    }
  return all;
}

std::vector<std::int64_t> JsonFields::integers(const std::string& key, std::int64_t least) const {
  std::vector<std::int64_t> all;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) report(key, "expected a list of integers, found " + shown(*value));
  else
    for (std::size_t i = 0; i < value->size(); ++i) {
      if (is_count(fmt::format("{}[{}]", key, i), (*value)[i], least)) all.push_back((*value)[i].get<std::int64_t>());
    }
  return all;
}

std::vector<std::string> JsonFields::texts(const std::string& key) const {
  std::vector<std::string> all;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) report(key, "expected a list of texts, found " + shown(*value));
  else
    for (std::size_t i = 0; i < value->size(); ++i) {
      if ((*value)[i].is_string()) all.push_back((*value)[i].get<std::string>());
      else report(fmt::format("{}[{}]", key, i), "expected a text, found " + shown((*value)[i]));
    }
  return all;
}

std::map<std::string, double> JsonFields::number_map(const std::string& key) const {
  std::map<std::string, double> all;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_object()) {
    report(key, "expected an object of numbers, found " + shown(*value));
    return all;
  }
  for (const auto& entry : value->items()) {
    const auto name = [&] { return fmt::format("{}[\"{}\"]", key, entry.key()); };
    if (is_amount(name, entry.value())) all[entry.key()] = entry.value().get<double>();
  }
  return all;
}

std::map<std::string, std::vector<double>> JsonFields::numbers_map(const std::string& key) const {
  std::map<std::string, std::vector<double>> all;
  const JsonFields inner = object(key);
  for (const auto& [name, item] : inner.value_->items()) all[name] = inner.numbers(name);
  return all;
}

void JsonFields::refuse_other_keys(const std::vector<std::string>& known) const {
  for (const std::string& key : keys())
    if (std::find(known.begin(), known.end(), key) == known.end())
      report(key, "unknown key" + did_you_mean(key, known));
}

nlohmann::json parse_object(std::string_view text, const std::string& file, const std::string& what) {
  const auto fail = [&](const std::string& message) { throw InputError(Diagnostic{.file = file, .message = message}); };
  const Structure structure = structure_of(text);
  // The parser recurses; a file nested thousands deep must not end the program.
  if (structure.depth > most_nesting) fail("is nested too deep for " + what);
  const std::string remedy = what == "a record" ? "measure the point again" : "expected " + what;
  const std::string no_json = "is no JSON from here on (damaged, or of another form); " + remedy;
  // The parser takes a zero byte for the end, whatever follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    refuse_at(text, zero + 1, file, no_json);
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const bool at_end = error.byte > text.size();  // the parser has read all and wants more
    refuse_at(text, error.byte, file, at_end ? "is not complete JSON (cut short); " + remedy : no_json);
  } catch (const nlohmann::json::exception&) {
    fail("holds a number that is too large for JSON's doubles; " + remedy);
  }
  if (members_of(json) < structure.members)  // the parser keeps the last of two values
    fail(fmt::format("key '{}' is given twice in one object; keep one", repeated_key(text)));
  if (!json.is_object()) fail("expected " + what + ", found JSON that is not an object");
  return json;
}

std::string_view line_of(const std::istream& stream, const char* buffer) {
  const auto taken = static_cast<std::size_t>(stream.gcount());  // with the line's end, unless the file ends before
  return {buffer, stream.eof() ? taken : taken - 1};
}

}  // namespace tilescope::validate
