// Tests of help, lists, version, completion and manual pages, which use one table of commands.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/text.h"
#include "cli/command.h"
#include "cli/run_program.h"

namespace help_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string shell(const std::string& command) {
  const ScratchFolder folder;
  CHECK(std::system((command + " >" + (folder / "out") + " 2>" + (folder / "err")).c_str()) == 0);
  CHECK(content_of(folder / "err") == "");
  return content_of(folder / "out");
}

// The completions that bash offers for the last of `words`. The first word is the program.
std::string bash_offers(const std::vector<std::string>& words) {
  const ScratchFolder folder;
  const std::string script = folder / "complete.bash";
  CHECK(run_program("completion bash -o " + script).status == 0);
  std::string list;
  for (const std::string& word : words) list += "'" + word + "' ";
  const std::string test = folder / "test.bash";
  std::ofstream(test) << "source " << script << "\nCOMP_WORDS=(" << list << ")\nCOMP_CWORD=" << words.size() - 1
                      << "\n_tilescope\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  return shell("bash --norc " + test);
}

}  // namespace

TEST_CASE("help COMMAND is COMMAND --help, for every command, and names every option") {
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    const std::string help = run_program("help " + command.name).out;
    CHECK(help == run_program(command.name + " --help").out);
    for (const OptionSpec& spec : command.options()) CHECK(holds(help, "--" + spec.name));
    CHECK(!command.examples.empty());
    for (const std::string& example : command.examples) CHECK(holds(help, example));
  }
  check_refused("help predct", "error: command: unknown command 'predct'; did you mean 'predict'?");
}

TEST_CASE("--version names the program's version, revision, CUDA and every schema of the sources") {
  const std::string text = run_program("--version").out;
  CHECK(std::regex_search(text, std::regex("^tilescope [0-9.]+ \\(git revision [0-9a-z-]+\\)\n")));
  CHECK((holds(text, "built without CUDA and CUPTI") || holds(text, "CUPTI 1")));
  std::set<std::string> missing;
  const std::regex schema("\"(tilescope/[a-z-]+/[0-9]+)\"");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TILESCOPE_SOURCE_DIR "/src")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".cpp") || name.ends_with("_test.cpp")) continue;
    const std::string source = content_of(entry.path().string());
    for (std::sregex_iterator it(source.begin(), source.end(), schema), end; it != end; ++it)
      if (!std::regex_search(text, std::regex((*it)[1].str() + "\\b"))) missing.insert((*it)[1].str());
  }
  CHECK_MESSAGE(missing.empty(), join(std::vector<std::string>(missing.begin(), missing.end()), " "));
}

TEST_CASE("list names what options take, in every format") {
  for (const std::string topic : {"kernels", "schedules", "workloads", "diagrams", "gpus", "columns"}) {
    CAPTURE(topic);
    const auto rows = nlohmann::ordered_json::parse(run_program("list " + topic + " --format json").out);
    CHECK(rows.size() >= 6);
    for (const std::string format : {"text", "csv", "md"}) {
      const Outcome outcome = run_program("list " + topic + " --format " + format);
      CHECK(outcome.status == 0);
      CHECK(holds(outcome.out, rows.back().begin()->get<std::string>()));
    }
  }
  check_refused("list kernls",
                "error: list: expected kernels, schedules, workloads, diagrams, gpus, columns, found 'kernls'; did you "
                "mean 'kernels'?");
}

TEST_CASE("docs/columns.md is what list columns prints, and every CSV column of a sweep is in it") {
  const std::string page = content_of(TILESCOPE_SOURCE_DIR "/docs/columns.md");
  CHECK(page.ends_with(run_program("list columns --format md").out));
  CHECK(page.starts_with("# Columns of the tables\n"));  // `make docs` keeps the first five lines
  const std::string csv =
      run_program("sweep --hardware l4 --q-len 1k --schedule flash2 --axis batch=1 --format csv").out;
  for (const std::string& column : split(csv.substr(0, csv.find('\n')), ','))
    CHECK_MESSAGE(holds(page, " " + (column.starts_with("tile_") ? "tile_NAME" : column) + " |"), column);
}

TEST_CASE("bash completes commands, options, words and the names of kernels") {
  const std::string program = TILESCOPE_BINARY;
  CHECK(bash_offers({program, "pre"}) == "predict\n");
  CHECK(bash_offers({program, "predict", "--q-"}) == "--q-len\n");
  CHECK(bash_offers({program, "predict", "--kernel", "fused_mm"}) == "fused_mma\n");
  CHECK(bash_offers({program, "predict", "--hardware", "=", "h200_"}) == "h200_sxm\n");
  CHECK(holds(bash_offers({program, "derive", "--format", ""}), "html"));
  CHECK(bash_offers({program, "list", "sche"}) == "schedules\n");
  CHECK(bash_offers({program, "help", "swe"}) == "sweep\n");
}

TEST_CASE("zsh and fish accept their completion scripts, where they are installed") {
  for (const std::string name : {"zsh", "fish"}) {
    if (std::system(("command -v " + name + " >/dev/null").c_str()) != 0) continue;
    CAPTURE(name);
    const ScratchFolder folder;
    CHECK(run_program("completion " + name + " -o " + (folder / "script")).status == 0);
    shell(name + " -n " + (folder / "script"));
  }
  check_refused("completion tcsh", "error: completion: expected bash, zsh or fish, found 'tcsh'");
}

TEST_CASE("every manual page is formatted without a complaint and names every option") {
  if (std::system("command -v groff >/dev/null") != 0) return;
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    const std::string page = shell("'" TILESCOPE_BINARY "' man " + command.name + " | groff -ww -man -Tascii -P-cbu");
    for (const OptionSpec& spec : command.options()) CHECK_MESSAGE(holds(page, "--" + spec.name), spec.name);
  }
  CHECK(holds(shell("'" TILESCOPE_BINARY "' man | groff -ww -man -Tascii -P-cbu"), "EXIT STATUS"));
}

}  // namespace help_test
