#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "records/convert.h"

namespace tilescope::cli {
namespace {

ExitStatus convert(const Arguments& arguments) {
  const auto& words = arguments.positional();
  if (words.empty() || words[0] != "convert")
    refuse("records", "expected the word convert, as in: tilescope records convert my_records -o lines");
  if (words.size() < 2) refuse("records convert", "is incomplete: name the records to convert");
  const auto output = arguments.text("output");
  if (!output) refuse("--output", "is missing: give the directory to write, as in -o records");
  const bool files = arguments.text("to") == "files";
  const validate::Conversion done =
      validate::convert_records(words[1], *output, files ? validate::RecordForm::files : validate::RecordForm::lines);
  print(fmt::format("{} records in {} files\n", done.records, done.files));
  return ExitStatus::done;
}

std::vector<OptionSpec> convert_options() {
  return {{"to",
           "lines: one JSON Lines file per experiment (default); files: one JSON file per point",
           Value::choice,
           {"lines", "files"}},
          {"output", "directory for the converted records (alias -o)", Value::output_directory},
          {"help", "this text (alias -h)", Value::flag}};
}

}  // namespace

Command records_command() {
  return {.name = "records",
          .summary = "convert records between one file per experiment and one file per point",
          .usage = "convert FROM -o DIRECTORY [--to lines|files]",
          .examples = {"tilescope records convert my_records -o my_records_as_lines",
                       "tilescope records convert validate/records/h200/main.jsonl --to files -o points"},
          .notes = "FROM is a directory or one file, in either form. The numbers do not change.",
          .options = convert_options,
          .run = convert,
          .most_positional = 2,
          .first_words = {"convert"}};
}

}  // namespace tilescope::cli
