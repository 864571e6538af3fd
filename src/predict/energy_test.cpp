// Energy a level: bytes and operations times measured energies.
#include <doctest/doctest.h>

#include <cmath>

#include "predict/explain/prediction_json.h"
#include "predict/explain/row_columns.h"
#include "predict/predict.h"
#include "request/answer.h"

namespace tilescope::energy_test {
namespace {

Answer answered(const std::string& gpu, const std::string& kernel) {
  return answer(Options(
      {{"hardware", {gpu}}, {"kernel", {kernel}}, {"heads-q", {"16"}}, {"q-len", {"2k"}}, {"head-dim", {"128"}}}));
}

const EnergyRow* row_of(const std::vector<EnergyRow>& rows, EnergyItem item) {
  for (const EnergyRow& row : rows)
    if (row.item == item) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("the energy of a level is its bytes times the profile's energy of a byte; shares sum to one") {
  const Answer a = answered("h200_sxm", "fused_wgmma");
  const std::vector<EnergyRow> rows = energy_rows(a.prediction);
  const auto& power = a.hardware.measured->power;
  double all = 0, shares = 0, transfers = 0;
  for (const EnergyRow& row : rows) all += row.energy.joules, shares += row.share;
  CHECK(shares == doctest::Approx(1));
  const std::tuple<EnergyItem, Boundary, double> levels[] = {
      {EnergyItem::hbm, Boundary::hbm, power.hbm->value - power.l2->value},  // a byte of hbm also passes the l2
      {EnergyItem::l2, Boundary::l2, power.l2->value},
      {EnergyItem::smem, Boundary::smem, power.smem->value}};
  for (const auto& [item, level, each] : levels) {
    const EnergyRow* row = row_of(rows, item);
    REQUIRE(row);
    const auto& bytes = a.prediction.traffic[level];
    CHECK(row->energy.amount == static_cast<double>(bytes[0] + bytes[1]));
    CHECK(row->energy.joules == doctest::Approx(static_cast<double>(bytes[0] + bytes[1]) * each));
    transfers += row->energy.joules;
  }
  CHECK(transfer_share(a.prediction) == doctest::Approx(transfers / all));
  CHECK(transfer_share(a.prediction) > 0);
  CHECK(transfer_share(a.prediction) < 1);
  const Json json = to_json(a.plan, a.hardware, a.point, a.prediction, a.options);
  CHECK(json["energy"]["items"].size() == rows.size());
  CHECK(json["energy"]["transfer_share"] == transfer_share(a.prediction));
}

TEST_CASE(
    "bytes that stay in the L2 from run to run take no power of HBM; the energy of a run with an empty L2 has it") {
  Answer a = answer(Options({{"hardware", {"l4"}},
                             {"schedule", {"split-kv"}},
                             {"heads-q", {"32"}},
                             {"heads-kv", {"8"}},
                             {"q-len", {"1"}},
                             {"kv-len", {"8k"}},
                             {"head-dim", {"128"}}}));
  const TimePrediction before = a.prediction.time;
  const double of_hbm = row_of(energy_rows(a.prediction), EnergyItem::hbm)->energy.joules;
  for (double factor : {10.0, 1000.0}) {
    a.hardware.measured->power.hbm->value *= factor;
    predict(a.plan, a.hardware, a.point, a.prediction);
    CHECK(a.prediction.time.total == before.total);
    CHECK(row_of(energy_rows(a.prediction), EnergyItem::hbm)->energy.joules > of_hbm);
  }
}

TEST_CASE("a profile without energies has no energy rows") {
  Answer a = answered("h200_sxm", "fused_wgmma");
  a.hardware.measured->power.smem.reset();
  predict(a.plan, a.hardware, a.point, a.prediction);
  CHECK(energy_rows(a.prediction).empty());
  CHECK(transfer_share(a.prediction) == 0);
  CHECK(!to_json(a.plan, a.hardware, a.point, a.prediction, a.options).contains("energy"));
}

}  // namespace tilescope::energy_test
