#include "cli/input/file_endings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"

namespace tilescope::cli {
namespace {

struct Ending {
  std::string_view end, format;
};
constexpr std::array<Ending, 14> endings{{{".txt", "text"},
                                          {".json", "json"},
                                          {".jsonl", "jsonl"},
                                          {".ndjson", "jsonl"},
                                          {".csv", "csv"},
                                          {".md", "md"},
                                          {".html", "html"},
                                          {".htm", "html"},
                                          {".svg", "svg"},
                                          {".xml", "xml"},
                                          {".sqlite", "sqlite"},
                                          {".sqlite3", "sqlite"},
                                          {".db", "sqlite"},
                                          {".parquet", "parquet"}}};

// What a command writes by the ending alone, beside what --format lists. Sweeps refuse Parquet with a way to get it.
const std::map<std::string, std::vector<std::string>>& by_ending_alone() {
  static const std::map<std::string, std::vector<std::string>> formats{
      {"run", {"html"}}, {"sensitivity", {"html", "svg"}}, {"sweep", {"jsonl", "sqlite", "parquet"}}};
  return formats;
}

const OptionSpec* spec_of(const std::vector<OptionSpec>& specs, std::string_view name) {
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const OptionSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

std::vector<std::string> endings_of(const std::vector<std::string>& formats) {
  std::vector<std::string> list;
  for (const Ending& each : endings)
    if (contains(formats, std::string(each.format))) list.emplace_back(each.end);
  return list;
}

}  // namespace

std::string format_of_ending(const std::string& file) {
  for (const Ending& each : endings)
    if (file.ends_with(each.end)) return std::string(each.format);
  return "";
}

void choose_format(const std::string& command, std::map<std::string, std::vector<std::string>>& values,
                   const std::vector<OptionSpec>& specs, bool runs_program) {
  const OptionSpec *output = spec_of(specs, "output"), *format = spec_of(specs, "format");
  const auto file = values.find("output");
  if (!output || !format || file == values.end() || output->value == Value::output_directory) return;
  if (output->value != Value::output_file && runs_program) return;  // a directory, as of capture -- COMMAND
  const std::string& name = file->second.back();
  const std::string asked = format_of_ending(name);
  if (asked.empty()) return;
  std::vector<std::string> written = format->choices;
  if (const auto more = by_ending_alone().find(command); more != by_ending_alone().end())
    written.insert(written.end(), more->second.begin(), more->second.end());
  if (!contains(written, asked))
    refuse("--output", fmt::format("{} asks for {}, which {} does not write: expected a name that ends with {}{}",
                                   shown_text(name), asked, command, join(endings_of(written), ", "),
                                   asked == "xml" && spec_of(specs, "junit") ? "; --junit FILE writes JUnit XML" : ""));
  const std::string chosen = asked == "jsonl" ? "json" : asked;  // one object a line
  const auto given = values.find("format");
  if (given == values.end()) {
    if (contains(format->choices, chosen)) values["format"] = {chosen};
  } else if (given->second.back() != chosen && contains(written, given->second.back())) {
    refuse("--format", fmt::format("{} contradicts the name {}, whose ending asks for {}; leave out --format or choose "
                                   "another name",
                                   given->second.back(), shown_text(name), chosen));
  }
}

}  // namespace tilescope::cli
