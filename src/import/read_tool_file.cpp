#include "import/read_tool_file.h"

#include <array>
#include <fstream>

#include "base/data_directory.h"
#include "base/error.h"
#include "import/ncu_csv.h"
#include "import/torch_trace.h"

namespace tilescope::imported {
namespace {

std::filesystem::path tables() { return data_directory() / "validate" / "import"; }

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
  if (!std::filesystem::exists(file, error)) fail("does not exist");
  if (head.empty()) fail("is empty");
  if (head.starts_with("SQLite format 3")) return ToolForm::nsys_sqlite;
  if (head.starts_with("\x1f\x8b")) return ToolForm::torch_trace;
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (head[first] == '{' || head[first] == '[')) return ToolForm::torch_trace;
  if (head.starts_with("NVPROF") || file.extension() == ".nsys-rep" || file.extension() == ".qdrep")
    fail("is a report of nsys; write it as SQLite with: nsys export --type sqlite");
  if (file.extension() == ".ncu-rep")
    fail("is a report of ncu; write it as CSV with: ncu --import FILE --csv --page raw");
  if (head.find('\0') != std::string::npos)
    fail("is neither a PyTorch trace, an nsys SQLite export nor CSV of ncu; text must be in UTF-8");
  return ToolForm::ncu_csv;
}

}  // namespace

OperatorTable shipped_operators() { return load_operators(tables() / "operators.yaml"); }

ToolFile read_tool_file(const std::filesystem::path& file, const OperatorTable& operators,
                        const std::vector<std::string>& ignored) {
  switch (form_of(file)) {
    case ToolForm::torch_trace:
      return read_torch_trace(file, operators);
    case ToolForm::nsys_sqlite:
      throw InputError(Diagnostic{.file = file.string(), .message = "SQLite is not read yet"});
    case ToolForm::ncu_csv:
      break;
  }
  return read_ncu_csv(
      file, load_metric_names(tables() / "ncu_names.yaml", list_profiles(data_directory() / "hardware"), ignored));
}

}  // namespace tilescope::imported
