// Tests a published table with every key and one error at a time against the exact finding. Then tests its rows.
#include "records/published.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/field_mutations.h"

namespace records_published_test {

using namespace tilescope;
using namespace tilescope::mutation;
using validate::PublishedTable;

namespace {

// A directory of its own, removed at the end.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("tilescope_published_{}", ::getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

const std::string two_rows = "head_dim,q_len,ms\n128,1024,0.25\n64,2048,0.5\n";

std::string table(const std::string& rows,
                  const std::string& every = "{kernel: fused_mma, batch: 4, heads_q: 16, dtype: bf16, mask: causal}") {
  return fmt::format(R"(schema: tilescope/published/1
name: every_key
source: a paper
rights: quoted
hardware: h200_sxm
rows: {}
every_row: {}
copies: [K, V]
bars: {{mape: 0.2, rank: 0.9}}
)",
                     rows, every);
}

// Findings of the file of rows; "" if it is accepted.
std::string findings_of_rows(const std::string& rows) {
  const Folder folder;
  folder.write("rows.csv", rows);
  const std::string file = folder.write("table.yaml", table("rows.csv"));
  try {
    validate::load_published(file);
    return {};
  } catch (const InputError& error) {
    std::string text = error.what();
    const std::string name = (folder.path / "rows.csv").string();
    for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), "rows.csv");
    return text;
  }
}

}  // namespace

TEST_CASE("each wrong, missing, duplicate or misspelt field of a published table gives one finding at its place") {
  const Folder folder;
  const std::string rows = folder.write("rows.csv", two_rows);
  const Probe probe(tree_of("", Document::parse(table(rows), "t.yaml").root()),
                    [](const std::filesystem::path& file) { validate::load_published(file); });
  check_fields(probe, {{"schema", "'tilescope/published/1'"},
                       {"name", "text"},
                       {"source", "text"},
                       {"rights", "text"},
                       {"hardware", "text"},
                       {"rows", "text"},
                       {"every_row", "a map", Need::free},
                       {"every_row.*", "text", Need::free},
                       {"copies", "a list", Need::optional},
                       {"copies[*]", "text"},
                       {"bars", "a map", Need::optional},
                       {"bars.mape", "a number from 0 to 10", Need::optional},
                       {"bars.rank", "a number from 0 to 1", Need::optional}});
}

TEST_CASE("a row takes its own cells first, then the values of every row, then values derived from the others") {
  const Folder folder;
  folder.write("rows.csv",
               "# where from\nhead_dim,heads_kv,q_len,tile_q,tile_kv,ms\n128,4,1024,128,64,0.25\n\n64,,2048,,,1e3\n");
  const PublishedTable table_read = validate::load_published(folder.write("table.yaml", table("rows.csv")));
  CHECK(table_read.name == "every_key");
  CHECK(table_read.copies == std::vector<std::string>{"K", "V"});
  CHECK(table_read.mape == 0.2);
  CHECK(table_read.rank == 0.9);
  REQUIRE(table_read.rows.size() == 2);
  CHECK(point_id(table_read.rows[0].points[0]) ==
        "fused_mma-bf16-b4-hq16-hkv4-q1024-kv1024-d128-causal-tq128-tkv64-w0");
  CHECK(table_read.rows[0].seconds == doctest::Approx(0.25e-3));
  CHECK(table_read.rows[0].line == 3);
  CHECK(point_id(table_read.rows[1].points[0]) == "fused_mma-bf16-b4-hq16-hkv16-q2048-kv2048-d64-causal");
  CHECK(table_read.rows[1].seconds == doctest::Approx(1));
}

TEST_CASE("a row may time several kernels that run one after the other") {
  const Folder folder;
  folder.write("rows.csv", "kernel,head_dim,q_len,ms\na+b,64,128,1\na,64,256,2\n");
  const PublishedTable read =
      validate::load_published(folder.write("table.yaml", table("rows.csv", "{batch: 1, heads_q: 2}")));
  REQUIRE(read.rows[0].points.size() == 2);
  CHECK(read.rows[0].points[1].kernel == "b");
  CHECK(read.rows[1].points.size() == 1);
}

TEST_CASE("each wrong cell of a row is one finding with its line and column") {
  CHECK(findings_of_rows(two_rows) == "");
  CHECK(findings_of_rows("head_dim,q_len,ms\n128,0,0.25\n64,2048,-1\n") ==
        "rows.csv:2: error: q_len: expected an integer from 1 to 1099511627776, found '0'\n"
        "rows.csv:3: error: ms: expected a positive number, found '-1'");
  CHECK(findings_of_rows("head_dim,q_len,ms\n128,1024\n64,2048,1\n") ==
        "rows.csv:2: error: has 2 cells, the header names 3");
  CHECK(findings_of_rows("head_dim,q_lem,ms\n128,1024,1\n64,2048,1\n")
            .starts_with("rows.csv:1: error: unknown column 'q_lem'; did you mean 'q_len'?"));
  CHECK(findings_of_rows("head_dim,q_len,ms,mask\n128,1024,1,none\n64,2048,1,none\n")
            .find("column 'mask' is also given for every row in") != std::string::npos);
  CHECK(findings_of_rows("head_dim,q_len,ms\n128,1024,1\n") ==
        "rows.csv: error: has fewer than two rows; ranks need two");
  CHECK(findings_of_rows("head_dim,q_len,heads_kv,ms\n128,1024,3,1\n64,2048,16,1\n")
            .starts_with("rows.csv:2: error: workload: heads_q must be a multiple of heads_kv"));
}

TEST_CASE("a directory without tables is reported with what was expected") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(validate::read_published(folder.path), doctest::Contains("holds no table (*.yaml)"), InputError);
}

TEST_CASE("the shipped tables are read, each with its source, rights and bars") {
  const auto tables = validate::read_published(std::filesystem::path(TILESCOPE_SOURCE_DIR) / "validate" / "published");
  CHECK(tables.size() >= 10);
  for (const PublishedTable& each : tables) {
    CAPTURE(each.name);
    CHECK(each.rows.size() >= 12);
    CHECK(std::filesystem::path(each.file).stem() == each.name);
    CHECK((each.mape || each.rank));
  }
}

}  // namespace records_published_test
