#include "network/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/contains.h"
#include "base/files.h"
#include "base/text.h"
#include "network/layers.h"
#include "network/stored_formats.h"
#include "records/json_fields.h"

namespace tilescope {
namespace {

constexpr std::size_t largest_file = 4 << 20;

// A configuration of text and images keeps the language model's in an object of its own.
const nlohmann::json& language_part(const nlohmann::json& root) {
  for (const char* key : {"text_config", "llm_config", "language_config"})
    if (const auto found = root.find(key); found != root.end() && found->is_object()) return *found;
  return root;
}

std::string text_or(const nlohmann::json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

std::vector<std::string> unread_keys(const ConfigValues& values, const Architectures& known, std::int64_t layers) {
  std::vector<std::string> unread = values.unread(layers);
  std::erase_if(unread, [&](const std::string& key) { return contains(known.without_effect, key); });
  return unread;
}

// Without these keys all layers would be counted alike.
void refuse_unread(const ConfigValues& values, const Architectures& known, const std::string& architecture,
                   const std::string& file, std::int64_t layers) {
  const std::vector<std::string> unread = unread_keys(values, known, layers);
  if (unread.empty()) return;
  throw InputError(Diagnostic{
      .file = file,
      .path = unread.front(),
      .message = fmt::format(
          "says that layers differ, and architecture {} does not read it{}; give --architectures "
          "FILE with an entry that does, or that lists it under `without_effect` where it "
          "changes neither sizes nor attention",
          architecture, unread.size() == 1 ? "" : fmt::format(" (nor {})", join(std::span(unread).subspan(1), ", ")))});
}

[[noreturn]] void unknown_architecture(const std::string& file, const std::string& model_type,
                                       const Architectures& known, ConfigValues values) {
  const std::string understood = join(values.found(), ", ");
  const std::vector<std::string> differ = unread_keys(values, known, values.count("layers").value_or(0));
  throw InputError(Diagnostic{
      .file = file,
      .path = "model_type",
      .message = fmt::format("{} is not a known architecture; understood of this file: {}; give --as NAME of one that "
                             "has the same layers{}, or --architectures FILE with an entry for it{}",
                             model_type.empty() ? "(missing)" : shown_text(model_type),
                             understood.empty() ? "nothing" : understood,
                             differ.empty() ? "" : fmt::format(" (they differ: {})", join(differ, ", ")),
                             did_you_mean(model_type, known.names()))});
}

}  // namespace

Network read_network(const std::filesystem::path& file, const Architectures& known,
                     const std::optional<std::string>& as, bool weights_given) {
  const std::string name = file.string();
  const nlohmann::json root = validate::parse_object(read_file(file, largest_file), name, "a model's configuration");
  const nlohmann::json& part = language_part(root);
  const std::string model_type = as.value_or(text_or(part, "model_type", text_or(root, "model_type", "")));
  const Architecture* architecture = known.find(model_type);
  if (!architecture) unknown_architecture(name, model_type, known, ConfigValues(part, name, known.keys, {}));
  ConfigValues values(part, name, known.keys, architecture->defaults);
  Network network{.name = file.stem() == "config" ? file.parent_path().filename().string() : file.stem().string(),
                  .architecture = model_type};
  if (network.name.empty()) network.name = model_type;
  read_formats(root, part, weights_given, values, network);
  read_layers(values, *architecture, network);
  values.finish();
  refuse_unread(values, known, model_type, name, network.layers);
  return network;
}

}  // namespace tilescope
