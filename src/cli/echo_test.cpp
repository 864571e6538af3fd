// Names from outside, of random bytes, in everything that commands print.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/escape.h"
#include "base/files.h"
#include "base/test_seed.h"
#include "base/text.h"
#include "cli/run_program.h"
#include "draw/test_xml.h"

namespace echo_test {

using namespace tilescope;
using namespace tilescope::cli;

namespace {

const std::string root = TILESCOPE_SOURCE_DIR "/";
const std::string sizes = " --q-len 256 --heads 2 --head-dim 128";

// Pieces that some reader of our output takes for more than text, and random bytes.
std::string hostile_name(std::mt19937& random) {
  static const std::vector<std::string> pieces{"=1+1",
                                               "@SUM(A1)",
                                               "+2",
                                               "-3",
                                               "<script>",
                                               "</td>",
                                               "<!--",
                                               "&lt;",
                                               "]]>",
                                               "](http://x)",
                                               "|",
                                               "`",
                                               "```",
                                               "\\",
                                               "\"",
                                               "'",
                                               "\n",
                                               "\r",
                                               "\t",
                                               "\x1b[2J",
                                               "\x7f",
                                               "\x9b",
                                               "\xC2\x9B",
                                               "\xED\xA0\x80",
                                               "\xEF\xBF\xBE",
                                               "\xE2\x80\xAE",
                                               "\xC3",
                                               "\xF0\x9F\x98\x80",
                                               "%s",
                                               "{}",
                                               "a",
                                               "flash",
                                               " "};
  std::string name;
  for (std::size_t left = 1 + random() % 5; left > 0; --left)
    name += random() % 6 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % pieces.size()];
  std::erase(name, '\0');
  return name;
}

// As YAML and JSON write it in quotes. Bytes that are not UTF-8 stay, and the readers find them.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr const char* digits = "0123456789abcdef";
    if (byte < 0x20 || byte == 0x7f) text += std::string("\\u00") + digits[byte / 16] + digits[byte % 16];
    else text += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  }
  return text + "\"";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A file with the name in it, and the command that reads it.
struct Source {
  const char* what;
  std::string (*write)(const ScratchFolder& folder, const std::string& name);  // the command
  std::vector<const char*> formats = {"text", "json", "csv", "md"};
};

std::string with_kernel(const ScratchFolder& folder, const std::string& name) {
  write_file(folder / "kernel.yaml", replaced(read_file(root + "kernels/fused_mma/kernel.yaml"), "kernel: fused_mma",
                                              "kernel: " + quoted(name)));
  write_file(folder / "code.json", read_file(root + "kernels/fused_mma/code.json"));
  return "predict --hardware h200_sxm --kernel " + folder / "kernel.yaml" + sizes;
}

std::string with_gpu(const ScratchFolder& folder, const std::string& name) {
  write_file(folder / "gpu.yaml",
             replaced(read_file(root + "hardware/h200_sxm.yaml"), "name: H200 SXM 141GB", "name: " + quoted(name)));
  return "predict --kernel fused_mma --hardware " + folder / "gpu.yaml" + sizes;
}

std::string with_diagram(const ScratchFolder& folder, const std::string& name) {
  write_file(folder / "d.yaml",
             replaced(read_file(root + "models/diagrams/matmul.yaml"), "diagram: matmul", "diagram: " + quoted(name)));
  return "derive " + folder / "d.yaml";
}

std::string with_config(const ScratchFolder& folder, const std::string& name) {
  write_file(folder / "config.json", replaced(read_file(root + "models/networks/llama-3-8b.json"),
                                              "\"model_type\": \"llama\"", "\"model_type\": " + quoted(name)));
  return "model " + folder / "config.json" + " --hardware h200_sxm";
}

// A kernel's name as ncu prints it.
std::string with_launch(const ScratchFolder& folder, const std::string& name) {
  std::string cell = "\"";
  for (const char c : name) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  write_file(folder / "ncu.csv",
             "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
             "\"0\"," +
                 cell + "\",\"(128, 1, 1)\",\"(8, 1, 1)\",\"gpu__time_duration.sum\",\"ns\",\"1000\"\n");
  return "import " + folder / "ncu.csv" + " --hardware h200_sxm";
}

std::string with_record(const ScratchFolder& folder, const std::string& name) {
  const std::string records = read_file(root + "src/fuzz/corpus/record/causal.jsonl");
  write_file(folder / "r.jsonl", replaced(records, "\"kernel\":\"fused_mma\"", "\"kernel\":" + quoted(name)));
  return "validate --recorded " + folder / "r.jsonl";
}

// The name of the board.
std::string with_board(const ScratchFolder& folder, const std::string& name) {
  const std::string records = read_file(root + "src/fuzz/corpus/record/causal.jsonl");
  write_file(folder / "r.jsonl", replaced(records, "\"gpu\":\"NVIDIA H200\"", "\"gpu\":" + quoted(name)));
  return "report --recorded " + folder / "r.jsonl";
}

// In single quotes of the shell.
std::string shell_word(const std::string& name) {
  std::string word = "'";
  for (const char c : name) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string with_word(const ScratchFolder&, const std::string& name) {
  return "compare --hardware h200_sxm --kernel fused_mma --mask " + shell_word(name) + sizes;
}

// Why a text is not fit to be printed; empty: it is.
std::string finding(const std::string& text, bool is_csv) {
  if (!is_utf8(text)) return "is not UTF-8";
  if (!is_csv && many_lines(text) != text) return "has control characters";
  return "";
}

// The cells of CSV, quotes removed.
std::vector<std::string> unquoted_cells(const std::string& csv) {
  std::vector<std::string> cells(1);
  bool inside = false;
  for (const char c : csv) {
    if (c == '"') inside = !inside;
    else if (!inside && (c == ',' || c == '\n')) cells.emplace_back();
    else cells.back() += c;
  }
  return cells;
}

// As sweep prints it.
bool every_line_is_json(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return std::all_of(lines.begin(), lines.end() - 1,
                     [](const std::string& line) { return nlohmann::json::accept(line); }) &&
         lines.back().empty();
}

void check_output(const std::string& format, const Outcome& outcome) {
  CHECK(outcome.status >= 0);
  CHECK(outcome.status <= 2);
  CHECK(outcome.err.find("internal") == std::string::npos);
  CHECK(finding(outcome.err, false) == "");
  CHECK(finding(outcome.out, format == "csv") == "");
  if (outcome.out.empty()) return;
  if (format == "json") CHECK((nlohmann::json::accept(outcome.out) || every_line_is_json(outcome.out)));
  if (format == "md") CHECK(safe_markdown(outcome.out) == outcome.out);
  if (format == "csv")
    for (const std::string& cell : unquoted_cells(outcome.out)) CHECK((cell.size() < 2 || cell[0] != '='));
}

}  // namespace

TEST_CASE("names of random bytes leave every command as UTF-8 that no terminal, page, table or spreadsheet obeys") {
  const std::vector<Source> sources{{"kernel", with_kernel},   {"GPU", with_gpu},
                                    {"diagram", with_diagram}, {"config", with_config},
                                    {"launch", with_launch},   {"record", with_record},
                                    {"word", with_word},       {"board", with_board, {"json", "csv", "md"}}};
  std::mt19937 random(test_seed());
  std::size_t printed = 0;
  for (int i = 0; i < 64; ++i) {
    const Source& source = sources[static_cast<std::size_t>(i) % sources.size()];
    const std::string format = source.formats[random() % source.formats.size()], name = hostile_name(random);
    const ScratchFolder folder;
    const std::string command = source.write(folder, name) + " --format " + format;
    CAPTURE(source.what);
    CAPTURE(quoted(name));
    CAPTURE(command);
    const Outcome outcome = run_program(command);
    CAPTURE(outcome.err);
    check_output(format, outcome);
    printed += outcome.status < 2;
  }
  CHECK(printed >= 6);  // most names are refused, by their place
}

TEST_CASE("a kernel's name is text in pages, tables, spreadsheets and test results") {
  const ScratchFolder folder;
  const std::string name = "=1+<script>alert(1)</script>|[x](http://y)\"";
  const std::vector<std::string> formats{"md", "csv", "json"};
  std::mt19937 random(test_seed());
  with_kernel(folder, name);
  const std::string shown = "--kernel '" + folder / "kernel.yaml" + "'",
                    point = " --hardware h200_sxm " + shown + sizes;
  for (const std::string& command :
       {"predict" + point, "explain" + point, "compare" + point, "sweep --axis batch=1:2:1" + point, "search" + point,
        "sensitivity" + point, "report" + point}) {
    // Those that predict hundreds of points print one form a run.
    const bool takes_long = command.starts_with("search") || command.starts_with("sensitivity");
    for (const std::string& format : takes_long ? std::vector{formats[random() % formats.size()]} : formats) {
      CAPTURE(command);
      CAPTURE(format);
      const Outcome outcome = run_program(command + " --format " + format);
      CAPTURE(outcome.err);
      CHECK(outcome.status == 0);
      check_output(format, outcome);
    }
  }
  const std::string own =
      folder / "=1+<b>|[x](y)\"&.kernel.yaml";  // of the descriptor's file, which records of other tools name
  std::filesystem::copy_file(root + "docs/gate-sample/my_attention.kernel.yaml", own);
  std::filesystem::copy_file(root + "docs/gate-sample/my_attention.code.json", folder / "=1+<b>|[x](y)\"&.code.json");
  write_file(folder / "measured.yaml",
             "schema: tilescope/measured/1\nhardware: h200_sxm\npoints:\n"
             "  - {heads_q: 16, q_len: 2k, head_dim: 128, mask: causal, dtype: bf16, seconds: 100 us}\n");
  const Outcome judged = run_program("validate --import " + folder / "measured.yaml" + " --kernel " + shell_word(own) +
                                     " --junit " + folder / "j.xml" + " --markdown " + folder / "m.md");
  CAPTURE(judged.err);
  CHECK(judged.status == 1);  // no tolerance
  const std::string junit = read_file(folder / "j.xml"), markdown = read_file(folder / "m.md");
  CHECK(test::xml_finding(junit.substr(junit.find('\n') + 1)) == "");
  CHECK(junit.find("&lt;b&gt;") != std::string::npos);
  CHECK(safe_markdown(markdown) == markdown);
  REQUIRE(run_program("report" + point + " -o " + folder / "page.html").status == 0);
  CHECK(read_file(folder / "page.html").find("<script>alert(1)") == std::string::npos);
}

}  // namespace echo_test
