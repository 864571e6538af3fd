// The family's data: from recorded points, and from copies of them that stand for kernels that were not measured.
#include "analysis/family/family.h"

#include <doctest/doctest.h>

#include <cmath>

#include "analysis/recorded_points.h"

namespace family_family_test {
namespace {

using namespace tilescope;
using analysis::compare_points, analysis::h200;

const std::string kFused = "main/fused_mma-fp16-b1-hq16-hkv16-q4096-kv4096-d128-none-tq128-tkv64-w8";
const std::string kFusedSlower = "main/fused_mma-fp16-b1-hq16-hkv16-q4096-kv4096-d128-none-tq64-tkv32-w4";
const std::string kFp32 = "main/reference_fp32-fp32-b1-hq8-hkv8-q1024-kv1024-d128-none-tq64-tkv64-w8";

// The same record under another name, `factor` times as fast.
ComparedPoint faster(ComparedPoint point, const std::string& kernel, double factor) {
  point.record.point.kernel = kernel;
  point.plan.kernel.name = kernel;
  for (double& seconds : point.record.steady_seconds) seconds /= factor;
  return point;
}

Json data_of(const Comparison& comparison) {
  return to_json(analysis::family_of(comparison, h200(), "revision", "2026-01-02"));
}

double median_seconds(const ComparedPoint& point) { return spread(point.record.steady_seconds).median; }

const Json& quantity(const Json& row, const std::string& name) {
  for (const Json& q : row["quantities"])
    if (q["quantity"] == name) return q;
  throw std::logic_error("no quantity " + name);
}

}  // namespace

TEST_CASE(
    "a ladder takes the fastest record of each kernel, slowest kernel first, and splits each gain in two factors") {
  const Comparison comparison = compare_points({kFusedSlower, kFused, analysis::reference_point});
  const Json data = data_of(comparison);
  REQUIRE(data["ladders"].size() == 1);
  const Json& steps = data["ladders"][0]["steps"];
  REQUIRE(steps.size() == 2);
  CHECK(steps[0]["kernel"] == "reference");
  CHECK(steps[0]["gain"].is_null());
  CHECK(steps[1]["kernel"] == "fused_mma");
  const ComparedPoint &slow = comparison.points[2], &a = comparison.points[0], &b = comparison.points[1];
  const ComparedPoint& fast = median_seconds(a) < median_seconds(b) ? a : b;
  CHECK(steps[1]["point"] == point_id(fast.record.point));
  CHECK(steps[1]["variants"] == 2);
  const Json& gain = steps[1]["gain"];
  CHECK(gain["factor"].get<double>() == doctest::Approx(median_seconds(slow) / median_seconds(fast)));
  CHECK(gain["predicted_factor"].get<double>() ==
        doctest::Approx(slow.prediction.time.total / fast.prediction.time.total));
  CHECK(gain["predicted_factor"].get<double>() * gain["nearness_factor"].get<double>() ==
        doctest::Approx(gain["factor"].get<double>()));
  const double flop = 4.0 * 16 * 4096 * 4096 * 128;  // two products of head_dim over every pair
  CHECK(steps[1]["flop_per_second"].get<double>() == doctest::Approx(flop / median_seconds(fast)));
}

TEST_CASE("a step lists what decreased and what increased between two predictions, with the ratio of the counters") {
  const Comparison comparison = compare_points({analysis::reference_point, kFused});
  const Json data = data_of(comparison);
  const Json& changes = data["ladders"][0]["steps"][1]["gain"]["changes"];
  const auto total = [](const ComparedPoint& p) {
    return static_cast<double>(p.prediction.traffic.both(LevelId::hbm));
  };
  bool hbm = false, launches = false;
  double last = INFINITY;
  for (const Json& c : changes) {
    if (!c["factor"].is_null()) {
      CHECK(c["factor"].get<double>() <= last);
      last = c["factor"];
      CHECK(c["factor"].get<double>() == doctest::Approx(c["before"].get<double>() / c["after"].get<double>()));
    }
    if (c["quantity"] == "hbm_bytes") {
      hbm = true;
      CHECK(c["factor"].get<double>() == doctest::Approx(total(comparison.points[0]) / total(comparison.points[1])));
      const auto& counters = comparison.points[1].record;
      CHECK(c["counted_after"].get<double>() ==
            doctest::Approx(counters.counters.at("dram__bytes_read.sum") +
                            counters.counters_with_flush.at("dram__bytes_write.sum")));
    }
    if (c["quantity"] == "launches") launches = c["before"] == 3 && c["after"] == 1;
  }
  CHECK(hbm);
  CHECK(launches);
}

TEST_CASE("a third-party kernel is recognised by the folder of its descriptor") {
  Comparison comparison = compare_points({analysis::reference_point, kFused});
  comparison.points.push_back(faster(comparison.points[1], "theirs", 1.5));
  comparison.points.back().plan.kernel.file = "kernels/third_party/theirs.kernel.yaml";
  const Json data = data_of(comparison);
  const Json& steps = data["ladders"][0]["steps"];
  REQUIRE(steps.size() == 3);
  CHECK(steps[2]["third_party"] == true);
  CHECK(steps[1]["third_party"] == false);
  CHECK(steps[2]["gain"]["factor"].get<double>() == doctest::Approx(1.5));
  CHECK(steps[2]["gain"]["predicted_factor"].get<double>() == doctest::Approx(1));
  CHECK(steps[2]["gain"]["changes"].empty());  // the same prediction: the gain is all in predicted / measured
  REQUIRE(data["kernels"].size() == 3);
  CHECK(data["kernels"][2]["kernel"] == "theirs");
  CHECK(data["kernels"][2]["third_party"] == true);
}

TEST_CASE("fp16 and bf16 are one step; other formats are steps of their own, with the bytes of their keys and values") {
  Comparison comparison = compare_points({kFused});
  comparison.points.push_back(comparison.points[0]);
  comparison.points[1].record.point.dtype = Format::bf16;
  CHECK(data_of(comparison)["ladders"].empty());
  ComparedPoint quantised = faster(comparison.points[0], "fused_mma", 3);
  const Dtype int4{Format::int4, 32, 2};
  quantised.record.point.dtypes["kv"] = int4;
  set_dtype(quantised.point, quantised.plan.schedule.diagram, "kv", int4);
  comparison.points.push_back(quantised);
  const Json ladder = data_of(comparison)["ladders"][0];
  REQUIRE(ladder["steps"].size() == 2);
  const double values = 2.0 * 16 * 4096 * 128;
  CHECK(ladder["steps"][0]["kv_bytes"] == values * 2);
  CHECK(ladder["steps"][1]["kv_bytes"] == values / 2 + values / 32 * 2);
  CHECK(ladder["steps"][1]["implementation"] == "fp16,kv=int4:g32:b2 128x64 8w");
}

TEST_CASE("a row shows predicted beside counted, the errors of all records, and why a number is missing") {
  const Comparison comparison = compare_points({analysis::reference_point, kFused, kFusedSlower, kFp32});
  const Json data = data_of(comparison);
  REQUIRE(data["kernels"].size() == 3);
  const Json& fused = data["kernels"][0];
  CHECK(fused["kernel"] == "fused_mma");
  CHECK(fused["records"] == 2);
  CHECK(fused["launches"]["predicted"] == 1);
  for (const Json& q : fused["quantities"]) {
    CHECK(q["absent"] == "");
    CHECK(q["ratio"].get<double>() == doctest::Approx(q["predicted"].get<double>() / q["measured"].get<double>()));
    CHECK(q["judged"]["n"] == 2);
    CHECK(q["judged"]["worst"].get<double>() < 0.05);
  }
  const Json& fp32 = data["kernels"][2];
  CHECK(fp32["kernel"] == "reference_fp32");
  CHECK(quantity(fp32, "tensor_flop")["predicted"].is_null());
  CHECK(quantity(fp32, "tensor_flop")["absent"] == "no matrix instructions: products run as FMA");
  CHECK(quantity(fp32, "smem_operand_bytes")["absent"] == "not modelled for products in plain FMA");
}

TEST_CASE("a counter that the record lacks is named") {
  Comparison comparison = compare_points({kFused});
  comparison.points[0].record.counters.erase("l1tex__m_xbar2l1tex_read_bytes.sum");
  comparison.points[0].record.counters.erase("l1tex__m_l1tex2xbar_write_bytes.sum");
  comparison.points[0].record.unavailable.push_back("l1tex__m_l1tex2xbar_write_bytes.sum");
  const Json row = data_of(comparison)["kernels"][0];
  CHECK(quantity(row, "l2_read_bytes")["measured"].is_null());
  CHECK(quantity(row, "l2_read_bytes")["absent"] == "l1tex__m_xbar2l1tex_read_bytes.sum was not counted");
  CHECK(quantity(row, "l2_write_bytes")["absent"] == "this GPU lacks l1tex__m_l1tex2xbar_write_bytes.sum");
}

TEST_CASE("the names in a compared point refer to arrays of its own plan") {
  const Comparison comparison = compare_points({analysis::reference_point, kFused, kFusedSlower, kFp32});
  for (const ComparedPoint& point : comparison.points)
    for (const FootprintRow& row : point.prediction.footprint)
      if (*row.largest != '\0') CHECK(point.plan.schedule.diagram.find_array(row.largest));
}

}  // namespace family_family_test
