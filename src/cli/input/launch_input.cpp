#include "cli/input/launch_input.h"

#include <fstream>

#include "cli/input/import_options.h"
#include "kernel/code/sass/nvdisasm.h"
#include "records/capture/capture_lines.h"

namespace tilescope::cli {
namespace fs = std::filesystem;
using launches::ProgramLaunches;

namespace {

enum class PlaceForm { capture, records, tool };

// By what the first line of the file, or the directory, holds.
PlaceForm form_of_place(const fs::path& place) {
  std::error_code ignored;
  if (fs::is_directory(place, ignored)) {
    const bool captured =
        fs::exists(place / capture::capture_file_name, ignored) || fs::exists(place / "traces", ignored);
    return captured ? PlaceForm::capture : PlaceForm::records;
  }
  std::string line(4096, '\0');
  std::ifstream stream(place, std::ios::binary);
  stream.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(stream.gcount()));
  line = line.substr(0, line.find('\n'));
  if (line.find(capture::capture_schema) != std::string::npos) return PlaceForm::capture;
  return line.find("\"tilescope/") != std::string::npos ? PlaceForm::records : PlaceForm::tool;
}

ProgramLaunches of_capture(const Arguments& arguments, const fs::path& place, const fs::path& descriptors) {
  launches::KernelFacts facts(place, find_nvdisasm(arguments.text("nvdisasm")));
  const ProgramLaunches program = launches::launches_of_capture(
      capture::read_capture(place), facts, place.string(),
      {.hardware = arguments.text("hardware"), .points = given_points(arguments), .descriptors = descriptors});
  std::error_code ignored;
  if (fs::is_directory(place, ignored)) facts.store();
  return program;
}

ProgramLaunches of_tool(const Arguments& arguments, const std::string& file) {
  imported::Imported all = read_imported(arguments, file);
  return launches::launches_of_tool(all.file, all.runs, std::move(all.records));
}

}  // namespace

ProgramLaunches read_launches(const Arguments& arguments, const std::string& place, const fs::path& descriptors) {
  switch (form_of_place(place)) {
    case PlaceForm::capture:
      return of_capture(arguments, place, descriptors);
    case PlaceForm::records:
      return launches::launches_of_records(validate::read_records(place), place);
    case PlaceForm::tool:
      break;
  }
  return of_tool(arguments, place);
}

}  // namespace tilescope::cli
