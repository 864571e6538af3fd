// A record names the launches that its kernel has.
#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/test_seed.h"
#include "compare/catalogue.h"
#include "compare/compare.h"
#include "records/record.h"

namespace tilescope::launch_names_test {
namespace {

const std::filesystem::path folder = TILESCOPE_SOURCE_DIR;

// The messages of a record that cannot be; empty: it can.
std::string launch_findings(const validate::Record& record, Catalogue& catalogue) {
  const Plan& plan = catalogue.plan(record.point.kernel);
  try {
    require_possible(record, plan, catalogue.profile(record), model_point(record, plan, folder));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a record of launches that its kernel does not have is refused, with the names that it has") {
  std::mt19937 random(test_seed());
  Catalogue catalogue{.data_directory = folder, .plans = {}, .profiles = {}};
  int changed = 0, several = 0, foreign = 0;
  for (const char* file : {"h200_drawn.jsonl", "h200_drawn_5.jsonl", "third_party.jsonl"}) {
    validate::for_each_record(folder / "validate/records/h200" / file, [&](validate::Record&& record) {
      if (random() % 8 != 0) return;
      const std::string whole = launch_findings(record, catalogue);
      CAPTURE(point_id(record.point));
      CHECK(whole.empty());
      validate::Record crowded = record;
      crowded.islands.back().launch.blocks_per_unit = 33 + static_cast<std::int64_t>(random() % 1000000);
      CHECK(launch_findings(crowded, catalogue).find("holds at most 32 blocks") != std::string::npos);
      const std::size_t count = record.islands.size(), at = random() % count;
      validate::Record other = record;
      other.islands[at].name += "x";
      if (launch_findings(other, catalogue).empty()) return void(++foreign);  // other software's names
      ++changed;
      const std::string expected = "islands[" + std::to_string(at) + "].name: kernel '" + record.point.kernel;
      CHECK(launch_findings(other, catalogue).find(expected) != std::string::npos);
      CHECK(launch_findings(other, catalogue).find("did you mean '" + record.islands[at].name + "'?") !=
            std::string::npos);
      if (count == 1) return;
      ++several;
      other = record, other.islands[at].name = record.islands[(at + 1) % count].name;
      CHECK(launch_findings(other, catalogue).find("is there twice") != std::string::npos);
      other = record, other.islands.erase(other.islands.begin() + static_cast<std::ptrdiff_t>(at));
      CHECK((count == 2) == launch_findings(other, catalogue).empty());  // one launch of several may be measured alone
      other.islands.assign(1, record.islands[at]);
      CHECK(launch_findings(other, catalogue).empty());
    });
  }
  CHECK(changed > 5);
  CHECK(several > 5);
  CHECK(foreign > 0);
}

}  // namespace tilescope::launch_names_test
