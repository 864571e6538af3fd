// Workload and block-mask files with one thing wrong at a time, and the exact finding.
#include "request/workload_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "config/field_mutations.h"
#include "diagram/block_mask.h"

namespace workload_file_test {

using namespace tilescope;
using namespace tilescope::mutation;
using namespace tilescope;

namespace {

const std::filesystem::path models = std::string(TILESCOPE_SOURCE_DIR) + "/models";
const std::string extent = "a count such as 4096 or 4k from 1 to 1099511627776";
const std::string block = "an integer from 1 to 1099511627776";

Probe workload_probe(const Tree& tree) {
  return Probe(tree, [](const std::filesystem::path& file) { find_workload(file.string(), models); });
}

const Workload masked{1, 1, 1, 100, 300, 64, 64};  // 2 query blocks of 64, 3 key blocks of 128

Probe mask_probe() {
  const Tree tree = tree_of(
      "",
      Document::parse("schema: tilescope/mask/1\nblock_q: 64\nblock_kv: 128\nrows:\n- 100\n- 110\n", "mask").root());
  return Probe(tree, [](const std::filesystem::path& file) { load_block_mask(file, masked); });
}

}  // namespace

TEST_CASE("every field of every workload that is wrong, missing, given twice or misspelt is one finding at its place") {
  const std::vector<Rule> rules{{"schema", "'tilescope/workload/1'"},
                                {"workload", "text"},
                                {"summary", "text"},
                                {"source", "text", Need::optional},
                                {"batch", extent},
                                {"heads_q", extent},
                                {"heads_kv", extent},
                                {"q_len", extent},
                                {"kv_len", extent},
                                {"head_dim", extent},
                                {"v_head_dim", extent, Need::optional}};
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models / "workloads")) {
    CAPTURE(entry.path());
    Tree tree = tree_of_file(entry.path());
    const auto add_missing = [&](const std::string& key, const std::string& value) {
      if (std::none_of(tree.children.begin(), tree.children.end(), [&](const Tree& each) { return each.key == key; }))
        tree.children.push_back({key, value, Kind::scalar, {}});
    };
    add_missing("source", "here"), add_missing("v_head_dim", "64");
    check_fields(workload_probe(tree), rules);
    ++files;
  }
  CHECK(files >= 5);
}

TEST_CASE("a workload's query heads are a multiple of its KV heads") {
  const Probe probe = workload_probe(tree_of_file(models / "workloads" / "llama3-8b-decode.yaml"));
  const std::string text = write(probe.tree(), {"heads_kv", Change::replace, "5"}).text;
  CHECK(probe.findings(text) ==
        probe.file() +
            ":1:1: error: heads_q must be a multiple of heads_kv so that every KV head serves equally many "
            "query heads, found heads_q 32 and heads_kv 5");
}

TEST_CASE("an unknown workload is refused with the nearest name") {
  CHECK_THROWS_WITH_AS(find_workload("llama3-8b-decod", models),
                       "error: --workload: no workload or file 'llama3-8b-decod'; did you mean 'llama3-8b-decode'?",
                       InputError);
  CHECK_THROWS_WITH_AS(
      find_workload("/nowhere/at/all", models),
      doctest::Contains("error: --workload: no workload or file '/nowhere/at/all'; known: deepseek-v3-decode, "),
      InputError);
  CHECK_THROWS_WITH_AS(find_workload("/", models), "/: error: is a directory, expected a file", InputError);
}

TEST_CASE("every field of a block mask that is wrong, missing, given twice or misspelt is one finding at its place") {
  check_fields(mask_probe(), {{"schema", "'tilescope/mask/1'"},
                              {"block_q", block},
                              {"block_kv", block},
                              {"rows", "a list"},
                              {"rows[*]", "text"}});
}

TEST_CASE("a block mask covers the workload with digits 0 and 1") {
  const Probe probe = mask_probe();
  const std::string wrong = "expected 3 digits 0 or 1, one a key block of 128, found ";
  for (const std::string text : {"10", "1000", "102", "-11", "abc", "1.0"})
    probe.expect_replaced("rows[1]", text, wrong + "'" + text + "'");
  const auto rows = [&](const Mutation& mutation, const std::string& message) {
    const Written written = write(probe.tree(), mutation);
    CHECK(probe.findings(written.text) == probe.line(written.values.at("rows"), "rows", message));
  };
  rows({"rows[0]", Change::drop}, "expected 2 rows, one a query block of 64, found 1");
  rows({"rows[0]", Change::twice}, "expected 2 rows, one a query block of 64, found 3");
  rows({"block_q", Change::replace, "128"}, "expected 1 rows, one a query block of 128, found 2");
  probe.expect_replaced("rows", "[]", "expected 2 rows, one a query block of 64, found 0");
}

TEST_CASE("a block mask is read row by row") {
  const Scratch scratch;
  std::ofstream(scratch.file()) << "schema: tilescope/mask/1\nblock_q: 64\nblock_kv: 128\nrows: ['100', '011']\n";
  const Mask mask = load_block_mask(scratch.name(), masked);
  REQUIRE(mask.kind == MaskKind::blocks);
  CHECK(mask.blocks->live == std::vector<std::vector<bool>>{{true, false, false}, {false, true, true}});
  CHECK(mask.text == "block-sparse:" + scratch.name());
}

}  // namespace workload_file_test
