// Tests what -o FILE does with its ending and with a file that is there, and how messages name options.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/run_program.h"

namespace tilescope::file_endings_test {

using namespace tilescope::cli;

TEST_CASE("the ending of -o FILE chooses the format, in every command that has it, and nothing else is written") {
  const ScratchFolder folder;
  const std::string point = "predict --hardware l4 --q-len 1k",
                    records = " --recorded " TILESCOPE_SOURCE_DIR "/src/fuzz/corpus/record/causal.jsonl";
  const auto begins = [&](const std::string& words, const std::string& name, const std::string& with) {
    CAPTURE(words);
    CAPTURE(name);
    CHECK(run_program(words + " -o " + (folder / name)).status == 0);
    CHECK(content_of(folder / name).starts_with(with));
  };
  begins(point, "p.json", "{");
  begins(point, "p.csv", "hardware,");
  CHECK(run_program(point + " -o " + (folder / "p.txt")).status == 0);
  CHECK(content_of(folder / "p.txt").find("\npredicted ") != std::string::npos);
  begins("list gpus", "gpus.md", "| ");
  begins("report" + records, "r.md", "# ");
  begins("report" + records, "r.json", "{");
  begins("hardware list", "h.unknown", "id ");
  for (const std::string name : {"x.html", "x.jsonl", "x.sqlite", "x.xml", "x.parquet"})
    CHECK(run_program(point + " -o " + (folder / name))
              .err.starts_with("error: --output: '" + (folder / name) + "' asks for "));
  CHECK(run_program(point + " -o " + (folder / "x.html")).err.find("ends with .txt, .json, .csv, .md") !=
        std::string::npos);
  CHECK(run_program("validate -o " + (folder / "x.xml")).err.find("--junit FILE writes JUnit XML") !=
        std::string::npos);
  CHECK(run_program(point + " --format csv -o " + (folder / "x.json"))
            .err.find("error: --format: csv contradicts the name ") != std::string::npos);
  CHECK(run_program(point + " --format json -o " + (folder / "x.json")).status == 0);
}

TEST_CASE("a file that may not be written is not replaced") {
  const ScratchFolder folder;
  const std::string file = folder / "kept.txt";
  std::ofstream(file) << "kept";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  check_refused("predict --hardware l4 --q-len 1k -o " + file,
                file + ": error: is write-protected; choose another name or permit writing with chmod u+w");
  CHECK(content_of(file) == "kept");
}

TEST_CASE("messages name an option as it was typed, and a mistyped one of the program gets a suggestion") {
  check_refused("predict --q-len 1k --heads",
                "error: --heads: needs a value, as in --heads VALUE; see tilescope predict --help");
  check_refused("--versio", "error: command: unknown command '--versio'; did you mean '--version'?");
}

}  // namespace tilescope::file_endings_test
