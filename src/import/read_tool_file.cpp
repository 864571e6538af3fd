#include "import/read_tool_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/files/open_problem.h"
#include "import/formats/measured_yaml.h"
#include "import/formats/ncu_csv.h"
#include "import/formats/nsys_sqlite.h"
#include "import/formats/torch_trace.h"

namespace tilescope::imported {
namespace {

std::string head_of(const std::filesystem::path& file) {
  std::array<char, 4096> bytes{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(stream.gcount())};
}

ToolForm form_of(const std::filesystem::path& file) {
  const std::string head = head_of(file);
  const auto fail = [&](const std::string& message) {
    throw InputError(Diagnostic{.file = file.string(), .message = message});
  };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) fail("is a directory; name a file");
  if (!std::filesystem::exists(file, error)) fail(open_problem(ENOENT));
  if (head.empty()) fail("is empty");
  if (head.starts_with("SQLite format 3")) return ToolForm::nsys_sqlite;
  if (head.starts_with("\x1f\x8b")) return ToolForm::torch_trace;
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (head[first] == '{' || head[first] == '[')) return ToolForm::torch_trace;
  if (file.extension() == ".yaml" || file.extension() == ".yml") return ToolForm::measured_yaml;
  if (head.starts_with("NVPROF") || file.extension() == ".nsys-rep" || file.extension() == ".qdrep")
    fail("is a report of nsys; write it as SQLite with: nsys export --type sqlite");
  if (file.extension() == ".ncu-rep")
    fail("is a report of ncu; write it as CSV with: ncu --import FILE --csv --page raw");
  if (head.find('\0') != std::string::npos)
    fail("is neither a PyTorch trace, an nsys SQLite export nor CSV of ncu; text must be in UTF-8");
  return ToolForm::ncu_csv;
}

// Text of a file as tables, JSON and records can hold it: valid UTF-8 without control characters.
void clean(std::string& text) {
  const auto good = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (std::all_of(text.begin(), text.end(), good)) return;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  text = nlohmann::json::parse(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
             .get<std::string>();
}

// Throws InputError for numbers that no GPU reaches, so that no sum of them overflows.
void clean(ToolFile& file) {
  constexpr double most_seconds = 1e9;
  for (std::string* text : {&file.driver, &file.cuda, &file.cupti}) clean(*text);
  for (auto& [id, device] : file.devices)
    for (std::string* text : {&device.name, &device.chip, &device.compute_capability}) clean(*text);
  for (ToolOperator& call : file.operators) {
    clean(call.name);
    for (std::string& text : call.types) clean(text);
    for (std::string& text : call.values) clean(text);
  }
  for (ToolLaunch& launch : file.launches) {
    clean(launch.id), clean(launch.name);
    if (launch.name.empty()) launch.name = "(no name)";
    bool fits = launch.seconds.value_or(0) <= most_seconds && launch.sm_hz <= most_count;
    for (const auto& [metric, value] : launch.counters) fits = fits && value <= most_count;
    if (!fits)
      throw InputError(Diagnostic{.file = file.path,
                                  .path = "launch " + launch.id,
                                  .message = "has a time or a counter that is too large; the file is damaged"});
  }
}

ToolFile read_form(const std::filesystem::path& file, const ImportTables& tables) {
  switch (form_of(file)) {
    case ToolForm::torch_trace:
      return read_torch_trace(file, tables.operators);
    case ToolForm::nsys_sqlite:
      return read_nsys_sqlite(file, tables.operators);
    case ToolForm::measured_yaml:
      return read_measured_yaml(file, tables.metrics);
    case ToolForm::ncu_csv:
      break;
  }
  return read_ncu_csv(file, tables.metrics);
}

}  // namespace

ImportTables load_tables(const std::vector<std::string>& ignored) {
  const std::filesystem::path folder = data_directory() / "validate" / "import";
  return {load_operators(folder / "operators.yaml"),
          load_metric_names(folder / "ncu_names.yaml", list_profiles(data_directory() / "hardware"), ignored)};
}

ToolFile read_tool_file(const std::filesystem::path& path, const ImportTables& tables) {
  ToolFile file = read_form(path, tables);
  clean(file);
  return file;
}

}  // namespace tilescope::imported
