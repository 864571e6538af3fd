#include <fmt/format.h>

#include <iostream>

#include "cli/cli.h"
#include "cli/output/help.h"
#include "records/convert.h"

namespace tilescope::cli {
namespace {

validate::RecordForm record_form(const Arguments& arguments) {
  const std::string form = arguments.text("to").value_or("lines");
  if (form == "lines") return validate::RecordForm::lines;
  if (form == "files") return validate::RecordForm::files;
  throw InputError(Diagnostic{.path = "--to", .message = fmt::format("expected lines or files, found '{}'", form)});
}

ExitStatus convert_command(const std::vector<std::string>& words) {
  const std::vector<OptionSpec> specs{
      {"to", "lines: a file of JSON Lines an experiment (default); files: a JSON file a point"},
      {"output", "-o DIRECTORY: where the converted records go"}};
  if (help_wanted(words, "records convert FROM -o DIRECTORY [--to lines|files]", specs,
                  "  tilescope records convert my_records -o my_records_as_lines\n"
                  "  tilescope records convert validate/records/h200/main.jsonl --to files -o points\n"
                  "FROM is a directory or one file, in either form. Every number stays what it is.\n"))
    return ExitStatus::done;
  const Arguments arguments("records convert", words, specs, 1);
  if (arguments.positional().empty())
    throw InputError(Diagnostic{.path = "records convert", .message = "is incomplete: name the records to convert"});
  const auto output = arguments.text("output");
  if (!output)
    throw InputError(
        Diagnostic{.path = "--output", .message = "is missing: give the directory to write, as in -o records"});
  const validate::Conversion done =
      validate::convert_records(arguments.positional()[0], *output, record_form(arguments));
  std::cout << fmt::format("{} records in {} files\n", done.records, done.files);
  return ExitStatus::done;
}

}  // namespace

ExitStatus records_command(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "convert") return convert_command({words.begin() + 1, words.end()});
  if (help_wanted(words, "records convert FROM -o DIRECTORY [--to lines|files]", {},
                  "  tilescope records convert my_records -o my_records_as_lines\n"))
    return ExitStatus::done;
  throw InputError(Diagnostic{
      .path = "records", .message = "expected the word convert, as in: tilescope records convert my_records -o lines"});
}

}  // namespace tilescope::cli
