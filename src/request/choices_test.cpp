// The tables of `search --emit`: the compiled header chooses what a search finds, and says what its choices lose.
#include "request/choices/choices.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <random>

#include "base/error.h"
#include "base/files.h"
#include "base/test_seed.h"
#include "predict/point/support.h"
#include "request/searched.h"

namespace tilescope::choices_test {
namespace {

Options table_options(const std::vector<std::pair<std::string, std::string>>& given) {
  Options options;
  for (const auto& [name, value] : given) options = options.with(name, value);
  return options;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
  CHECK(pclose(pipe) == 0);
  return text;
}

// A program in both languages that prints the header's choice for each line of two sizes.
std::string program_of(const Choices& choices) {
  const std::string header = choices.header();
  const std::size_t at = header.find("_choice* ") + 9;
  const std::string name = header.substr(at, header.find('(', at) - at);
  std::string fields, formats;
  for (const Parameter& parameter : choices.sweep.plan->schedule.parameters)
    fields += ", c->tile_" + parameter.name, formats += "%d ";
  return fmt::format(R"(#include <stdio.h>
{}
int main(void) {{
  long long a, b;
  while (scanf("%lld %lld", &a, &b) == 2) {{
    const {}_choice* c = {}(a, b);
    if (!c) printf("none\n");
    else printf("{}%d %d\n"{}, c->warps, c->stages);
  }}
  return 0;
}}
)",
                     header, name, name, formats, fields);
}

std::string tile_text(const Choices& choices, const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < choices.sweep.plan->schedule.parameters.size(); ++i)
    text += fmt::format("{} ", point.tiles[i]);
  return text + fmt::format("{} {}\n", point.warps, stages_of(choices.sweep.plan->kernel, point));
}

// Sizes at the ends of ranges, inside them and beyond the last.
std::vector<std::int64_t> random_sizes(const Choices& choices, std::mt19937& random) {
  std::vector<std::int64_t> sizes;
  for (const SweepAxis& axis : choices.sweep.axes) {
    const std::int64_t last = axis.values.largest();
    const auto draw = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
    sizes.push_back(draw(3) == 1
                        ? axis.values[static_cast<std::size_t>(draw(static_cast<std::int64_t>(axis.values.size())) - 1)]
                        : draw(last + last / 8));
  }
  return sizes;
}

}  // namespace

TEST_CASE("the header compiles as C and C++, and chooses what search finds for the end of the range") {
  MESSAGE("seed " << test_seed());
  std::mt19937 random(test_seed());
  const TemporaryDirectory directory("choices");
  using Given = std::vector<std::pair<std::string, std::string>>;
  for (const Given& given : {Given{{"hardware", "h200_sxm"}, {"kernel", "fused_mma"}, {"head-dim", "128"}},
                             Given{{"hardware", "a100_sxm_80"}, {"schedule", "flash2"}, {"head-dim", "64"}}}) {
    Given tables = given;
    tables.insert(tables.end(), {{"l2", "closed"}, {"heads-q", "8"}, {"mask", "causal"}, {"checks", "4"}});
    Given axes = tables;
    axes.insert(axes.end(), {{"axis", "q_len=64:4k:x4"}, {"axis", "batch=1,3,16"}});
    const Choices choices = choices_of(table_options(axes));
    REQUIRE(choices.cells.size() == 12);
    CHECK(choices.list.size() > 1);
    std::string questions, expected;
    for (int i = 0; i < 60; ++i) {
      const std::vector<std::int64_t> sizes = random_sizes(choices, random);
      questions += fmt::format("{} {}\n", sizes[0], sizes[1]);
      const ChoiceCell* cell = choices.cell_of(sizes);
      CHECK((cell == nullptr) == (sizes[0] > 4096 || sizes[1] > 16));
      if (!cell) {
        expected += "none\n";
        continue;
      }
      Given end = tables;
      std::erase_if(end, [](const auto& option) { return option.first == "checks"; });
      const auto lengths = choices.sweep.axes[0].values.written_out();
      const auto batches = choices.sweep.axes[1].values.written_out();
      const std::int64_t length = *std::lower_bound(lengths.begin(), lengths.end(), sizes[0]),
                         batch = *std::lower_bound(batches.begin(), batches.end(), sizes[1]);
      end.insert(end.end(), {{"q-len", std::to_string(length)}, {"batch", std::to_string(batch)}});
      const Searched searched = search_of(table_options(end));
      REQUIRE(!searched.result.feasible.empty());
      expected += tile_text(choices, searched.result.feasible.front().point);
      CHECK(cell->loss() == 0);
      CHECK(cell->best_seconds == doctest::Approx(searched.result.feasible.front().busy_seconds));
    }
    write_file(directory.path() / "questions", questions);
    write_file(directory.path() / "table.c", program_of(choices));
    const std::string at = directory.path().string();
    for (const std::string compiler : {"cc -std=c99", "c++ -std=c++11 -x c++"}) {
      CAPTURE(compiler);
      CHECK(output_of(fmt::format("{0} -Wall -Wextra -Wpedantic -Werror {1}/table.c -o {1}/table && {1}/table < "
                                  "{1}/questions",
                                  compiler, at)) == expected);
    }
  }
}

TEST_CASE("a table within a tolerance has fewer choices, and loses no more than it") {
  const auto table = [](const std::string& tolerance) {
    return choices_of(table_options({{"hardware", "h200_sxm"},
                                     {"kernel", "fused_mma"},
                                     {"head-dim", "128"},
                                     {"heads-q", "16"},
                                     {"l2", "closed"},
                                     {"axis", "q_len=64:8k:x2"},
                                     {"tolerance", tolerance}}));
  };
  const Choices exact = table("0"), loose = table("30%");
  CHECK(loose.list.size() < exact.list.size());
  for (const ChoiceCell& cell : exact.cells) CHECK(cell.loss() == 0);
  double worst = 0;
  for (const ChoiceCell& cell : loose.cells) worst = std::max(worst, cell.loss());
  CHECK(worst > 0);
  CHECK(worst <= 0.3);
  CHECK(exact.checks.points == 20);
  CHECK(exact.checks.worst_loss >= exact.checks.mean_loss);
  CHECK(exact.json()["ranges"].size() == 8);
  for (const TileChoice& choice : exact.list) CHECK(choice.worst_loss >= choice.mean_loss);
}

TEST_CASE("what has no table of tiles is refused") {
  const auto refused = [](std::vector<std::pair<std::string, std::string>> more, const std::string& says) {
    more.insert(more.end(), {{"hardware", "h200_sxm"}, {"head-dim", "64"}});
    try {
      choices_of(table_options(more));
      FAIL("it was not refused");
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find(says) != std::string::npos);
    }
  };
  refused({{"axis", "q_len=64"}, {"kernel", "auto"}}, "a table of tiles is of one kernel");
  refused({{"axis", "q_len=64"}, {"axis", "tile.q=64"}}, "--axis");
  refused({{"axis", "q_len=128,64"}}, "from small to large");
  refused({{"axis", "q_len=64"}, {"tolerance", "few"}}, "expected percent");
}

}  // namespace tilescope::choices_test
