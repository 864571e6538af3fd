// What `compare` crosses, sorts and leaves out.
#include "request/compared.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/test_seed.h"
#include "predict/explain/labels.h"
#include "request/answer.h"
#include "request/crossed.h"
#include "request/option_specs.h"
#include "request/sweep/choice_axes.h"

namespace tilescope::compared_test {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Json compared_rows_of(Given given) {
  for (const auto& [name, value] : Given{{"q-len", "1k"}, {"heads", "8"}, {"head-dim", "128"}})
    given.emplace_back(name, value);
  return compared(checked_options(given, compare_options())).json()["rows"];
}

std::vector<std::string> column_texts(const Json& rows, const char* key) {
  std::vector<std::string> cells;
  for (const Json& row : rows) cells.push_back(row[key].is_string() ? row[key].get<std::string>() : row[key].dump());
  return cells;
}

}  // namespace

TEST_CASE("lists by commas are crossed: kernels and schedules, GPUs, formats") {
  const Json rows =
      compared_rows_of({{"hardware", "l4,l40s"}, {"kernel", "fused_mma,flash1"}, {"dtype", "fp16,o=fp32,bf16"}});
  CHECK(column_texts(rows, "hardware") ==
        std::vector<std::string>{"l4", "l4", "l40s", "l40s", "l4", "l4", "l40s", "l40s"});
  CHECK(rows[0]["kernel"] == "fused_mma");
  CHECK(rows[7]["kernel"] == "flash1");
  CHECK(column_texts(rows, "dtype")[1] == "bf16");
  const Json schedules =
      compared_rows_of({{"hardware", "l4"}, {"schedule", "flash1,flash2"}, {"dtype", "fp16,kv=int8;fp16,kv=int4"}});
  CHECK(column_texts(schedules, "kernel") == std::vector<std::string>{"flash1", "flash1", "flash2", "flash2"});
  CHECK(column_texts(schedules, "dtype") == std::vector<std::string>{"fp16,k=int8,v=int8", "fp16,k=int4,v=int4",
                                                                     "fp16,k=int8,v=int8", "fp16,k=int4,v=int4"});
}

TEST_CASE("a row that cannot run says why, and the others have the numbers that they have alone") {
  const Json rows =
      compared_rows_of({{"hardware", "h200_sxm,mi300x,a100_sxm_80"}, {"kernel", "fused_wgmma,fused_mma"}});
  REQUIRE(rows.size() == 6);
  CHECK(rows[1]["no_time"] == "kernel 'fused_wgmma' is CUDA code, mi300x is a GPU of AMD");
  CHECK(rows[2]["no_time"] ==
        "kernel 'fused_wgmma' uses wgmma, which only compute capability 9.0 has; a100_sxm_80 has 8.0");
  for (const int dead : {1, 2, 4}) CHECK(rows[static_cast<std::size_t>(dead)]["microseconds"].is_null());
  for (const int live : {0, 3, 5}) {
    const Json& row = rows[static_cast<std::size_t>(live)];
    CHECK(row["no_time"] == "");
    const Json alone =
        compared_rows_of({{"hardware", row["hardware"]}, {"kernel", row["kernel"]}, {"basis", "derived"}});
    CHECK(row["microseconds"] == alone[0]["microseconds"]);
    CHECK(row["hbm_bytes"] == alone[0]["hbm_bytes"]);
    CHECK(row["time_ratio"].get<double>() ==
          doctest::Approx(row["microseconds"].get<double>() / rows[0]["microseconds"].get<double>()));
    CHECK(row["hbm_ratio"].get<double>() ==
          doctest::Approx(row["hbm_bytes"].get<double>() / rows[0]["hbm_bytes"].get<double>()));
  }
  CHECK_THROWS_AS(compared_rows_of({{"hardware", "mi300x"}, {"kernel", "fused_wgmma,fused_mma"}}), InputError);
  CHECK_THROWS_AS(compared_rows_of({{"hardware", "l4"}, {"dtype", "fp16,fp17"}}), InputError);
}

TEST_CASE("`all` in a list of GPUs is every shipped profile, in compare as on an axis of a sweep") {
  std::vector<std::string> ids;
  for (const HardwareProfile& gpu : list_profiles(data_directory() / "hardware")) ids.push_back(gpu.id);
  CHECK(gpus_named("all") == ids);
  CHECK(gpus_named("all[compute.units=7]")[1] == ids[1] + "[compute.units=7]");
  CHECK(gpus_named("l4") == std::vector<std::string>{"l4"});
  CHECK(read_choice_axis("hardware=all")->values == ids);
  CHECK(crossed_question(checked_options({{"hardware", "all"}, {"dtype", "fp16"}}, compare_options())).gpus == ids);
}

TEST_CASE("sort orders by any column with empty cells last; best keeps the fastest of a GPU and format") {
  const Given question{{"hardware", "a100_sxm_80,mi300x,l4"}, {"kernel", "fused_mma,flash1"}, {"dtype", "fp16"}};
  const auto sorted = [&](const std::string& by) {
    Given given = question;
    given.emplace_back("sort", by);
    return column_texts(compared_rows_of(given), "microseconds");
  };
  const auto number = [](const std::string& cell) { return std::stod(cell); };
  const std::vector<std::string> up = sorted("microseconds"), down = sorted("microseconds:desc");
  REQUIRE(up.size() == 6);
  for (std::size_t i = 0; i + 1 < 4; ++i) {
    CHECK(number(up[i]) <= number(up[i + 1]));
    CHECK(number(down[i]) >= number(down[i + 1]));
  }
  CHECK(up[4] == "null");
  CHECK(down[5] == "null");
  Given given = question;
  given.emplace_back("best", "1");
  const Json best = compared_rows_of(given), all = compared_rows_of(question);
  CHECK(column_texts(best, "hardware") == std::vector<std::string>{"a100_sxm_80", "mi300x", "l4"});
  for (const Json& row : best)
    for (const Json& other : all)
      if (other["hardware"] == row["hardware"] && !other["microseconds"].is_null() && !row["microseconds"].is_null())
        CHECK(row["microseconds"] <= other["microseconds"]);
}

TEST_CASE("kernels that do not exist are named, those of descriptors not") {
  const auto ideal = [](Given given) {
    given.emplace_back("q-len", "1k"), given.emplace_back("head-dim", "128");
    return compared(checked_options(given, compare_options())).json()["ideal"];
  };
  CHECK(ideal({{"hardware", "l4"}, {"kernel", "fused_mma"}}).empty());
  CHECK(ideal({{"hardware", "l4"}}) == Json{"flash2"});
  CHECK(ideal({{"hardware", "l4,l40s"}, {"schedule", "flash1,flash2"}}) == Json{"flash1", "flash2"});
  CHECK(ideal({{"hardware", "l4,mi300x"}, {"kernel", "auto"}}).empty());  // a row that nothing runs
}

TEST_CASE("a lower bound is never ranked before a predicted time, nor divided by one") {
  for (const std::string gpus : {"mi300x,a100_sxm_80,mi325x,l4", "l4,mi355x,a100_sxm_80", "mi300x,mi325x"}) {
    const bool mixed = gpus.find("l4") != std::string::npos;
    for (const std::string by : {"microseconds", "microseconds:desc", "model_tflops", "model_tflops:desc"}) {
      CAPTURE(gpus);
      CAPTURE(by);
      const Json rows = compared_rows_of({{"hardware", gpus}, {"schedule", "flash2"}, {"sort", by}});
      bool bounds = false;
      for (const Json& row : rows) {
        CHECK_FALSE((bounds && row["model"] == "blocks"));
        bounds = bounds || row["model"] == "bound";
        CHECK(row["time_ratio"].is_null() == (mixed && row["model"] == "bound"));
        CHECK(row["times_fastest"].is_null() == (row["model"] == "bound"));
      }
      CHECK(bounds);
    }
  }
}

TEST_CASE("a profile given as a file is the one that a choice of kernels is made for") {
  const auto folder = std::filesystem::temp_directory_path() / ("tilescope-compared-" + std::to_string(test_seed()));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "mine.yaml").string();
  {
    std::ifstream shipped(data_directory() / "hardware" / "l4.yaml");
    std::ofstream mine(file);
    for (std::string line; std::getline(shipped, line);) mine << (line.starts_with("id:") ? "id: mine" : line) << "\n";
  }
  const Json rows = compared_rows_of({{"hardware", file + ",l4"}, {"kernel", "auto"}});
  std::filesystem::remove_all(folder);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["hardware"] == "mine");
  CHECK(rows[0]["kernel"] == rows[1]["kernel"]);
  CHECK(rows[0]["microseconds"].get<double>() > 0);
}

TEST_CASE("a printed dtype is an option that gives the same formats") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  const std::vector<std::string> names = dtype_names();
  for (const std::string schedule :
       {"flash2", "standard", "split-kv", "flash2-backward", "standard-backward", "matmul"}) {
    const Plan plan = read_plan(Options().with("schedule", schedule));
    const std::vector<std::string> keys = dtype_keys(plan.schedule.diagram);
    for (int round = 0; round < 50; ++round) {
      Point point = default_point(plan), again = default_point(plan);
      for (const std::string& key : keys)
        if (random() % 2) apply_dtypes(point, plan, key + "=" + names[random() % names.size()]);
      const std::string label = dtype_label(plan, point);
      CAPTURE(schedule);
      CAPTURE(label);
      apply_dtypes(again, plan, label);
      CHECK(again.dtypes == point.dtypes);
      apply_dtypes(again = default_point(plan), plan, dtype_label(plan, point, ';'));
      CHECK(again.dtypes == point.dtypes);
    }
  }
}

}  // namespace tilescope::compared_test
