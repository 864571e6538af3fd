#include "predict/l2/read_together.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "compare/catalogue.h"
#include "compare/compare.h"
#include "predict/l2/memory_seconds.h"
#include "predict/predict.h"
#include "records/record.h"

namespace compare_read_together_test {

using namespace tilescope;

// Sectors that the L2's slices serve, of those that SMs take: less than all where SMs of a group get a tile together.
TEST_CASE("under a mask, the part of the reads of keys that leaves the L2 is what its counters say") {
  const std::filesystem::path source = TILESCOPE_SOURCE_DIR;
  Catalogue catalogue;
  catalogue.data_directory = source;
  int count = 0;
  double sum = 0, worst = 0, all_together = 0;
  for (const char* file :
       {"h100/h100_drawn_14.jsonl", "h100/h100_drawn_11.jsonl", "h200/h200_drawn_10.jsonl", "h200/h200_drawn_7.jsonl"})
    for (const validate::Record& record : validate::read_records(source / "validate/records" / file)) {
      const std::string& kernel = record.point.kernel;
      if ((kernel != "fused_wgmma" && kernel != "case_study") || record.point.mask == "none") continue;
      const auto& counters = record.islands.front().counters;
      const auto counted = [&](const char* name) {
        const auto found = counters.find(name);
        return found == counters.end() ? 0 : static_cast<double>(found->second);
      };
      const double taken = counted("l1tex__m_xbar2l1tex_read_bytes.sum"),
                   served = 32 * counted("lts__t_sectors_srcunit_tex_op_read.sum");
      constexpr double much = 5e8;
      if (taken < much || served <= 0) continue;
      const Plan& plan = catalogue.plan(kernel);
      const HardwareProfile& hardware = catalogue.profile(record);
      const Point point = model_point(record, plan, source);
      const auto bound = bind_islands(plan, hardware, point);
      const std::int64_t at_work = point.blocks_per_unit * hardware.units.value;
      const std::size_t groups = hardware.l2_groups->value.size();
      const ArrayId keys = *plan.schedule.diagram.find_array("K");
      const std::optional<double> part = part_that_leaves(bound.front(), keys, at_work, groups);
      if (!part) continue;
      const double error = std::abs(*part - served / taken);
      ++count, sum += error, worst = std::max(worst, error);
      const auto same = static_cast<double>(at_work) / tiles_at_work(bound.front(), keys, at_work);
      all_together += std::abs(1 / asked_together(same, groups) - served / taken);
    }
  MESSAGE(count << " launches, mean " << sum / count << ", worst " << worst << ", were all together "
                << all_together / count);
  CHECK(count >= 20);
  // Where the L2 is not the limit tiles are on their way for a shorter part of a step, and are shared less often.
  CHECK(sum / count <= 0.12);
  CHECK(worst <= 0.4);
  CHECK(all_together / count > 0.5);  // what it would be, did blocks at different tiles share them
}

}  // namespace compare_read_together_test
