#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fixture.h"

namespace tilescope::page_test {
namespace {

using namespace analysis;

const std::vector<Roof> roofs{
    {"hbm", "datasheet", 4.8e12}, {"l2", "microbenchmark", 1.1e13}, {"smem", "derived from 128 B/clk/SM", 3.3e13}};

struct Shape {
  std::string kernel;
  double n = 0, d = 0, q = 0, kv = 0;
  bool causal = false;
  std::string dtype = "fp16";
};

Side predicted(const Shape& s, std::string& bound_by) {
  constexpr double heads = 32;
  const bool fused = s.kernel == "fused_mma";
  const double share = s.causal ? 0.5 + s.q / (2 * s.n) : 1;
  const double operand = heads * s.n * s.d * 2, scores = heads * s.n * s.n * 2;
  const double flop = std::round(4 * heads * s.n * s.n * s.d * share);
  const double reread =
      fused ? operand + 2 * operand * std::ceil(s.n / s.q) * share : 3 * operand * std::ceil(s.n / 128) + 2 * scores;
  const double stored = fused ? operand : operand + 2 * scores;
  Side side{.traffic = {{"hbm", fused ? 3 * operand : 3 * operand + 2 * scores, stored},
                        {"l2", std::round(reread), stored},
                        {"smem", std::round(flop / (fused ? 42 : 21)), std::round(flop / 90),
                         std::round(flop / (fused ? 44 : 22))},
                        {"register", std::round(flop / 3), std::round(flop / 6)}},
            .work = {{"tensor_flop", flop}, {"model_flop", flop}, {"xu", std::round(heads * s.n * s.n * share)}},
            .clock_hz = 1.755e9};
  bound_by = "tensor", side.seconds = flop / (fused ? 6.596e14 : 4e14);
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const double seconds = (*side.traffic[i].read_bytes + *side.traffic[i].write_bytes) / roofs[i].bytes_per_second;
    if (seconds > *side.seconds) bound_by = roofs[i].level, side.seconds = seconds;
  }
  return side;
}

Side measured(const Side& p, bool spoiled, Random& random) {
  const auto near = [&](const Number& value, double spread) { return std::round(random.near(*value, spread)); };
  const Traffic &hbm = p.traffic[0], &l2 = p.traffic[1], &smem = p.traffic[2], &reg = p.traffic[3];
  Side side{.traffic = {{"hbm", near(hbm.read_bytes, 0.02) * (spoiled ? 3 : 1), near(hbm.write_bytes, 0.025)},
                        {"l2", near(l2.read_bytes, 0.001), near(l2.write_bytes, 0.002)},
                        {"smem", {}, {}, near(smem.operand_read_bytes, 0.004)},
                        {"register", near(reg.read_bytes, 0.2), near(reg.write_bytes, 0.2)}},
            .work = {{"tensor_flop", p.work[0].second}, {"xu", near(p.work[2].second * 1.03, 0.02)}}};
  side.seconds = *p.seconds * (1.05 + random.next() * 0.5);
  side.seconds_cold = *side.seconds * 1.08;
  side.clock_hz = 1.7e9 + random.next() * 1e8;
  return side;
}

void add_rows(std::vector<ReportRow>& rows, const ReportPoint& point) {
  if (!point.measured) return;
  const Side &p = point.predicted, &m = *point.measured;
  const auto add = [&](const std::string& quantity, const std::string& level, const Number& expected,
                       const Number& counted, const Number& tolerance, const std::string& reason) {
    const double ratio = *expected / *counted;
    const Verdict verdict = !tolerance                          ? Verdict::info
                            : std::abs(ratio - 1) <= *tolerance ? Verdict::pass
                                                                : Verdict::fail;
    rows.push_back({.point = point.id,
                    .kernel = point.kernel,
                    .quantity = quantity,
                    .level = level,
                    .predicted = expected,
                    .measured = counted,
                    .ratio = ratio,
                    .tolerance = tolerance,
                    .verdict = verdict,
                    .reason = reason});
  };
  const auto both = [&](std::size_t i, const Number& reads, const Number& writes, const std::string& reason) {
    const std::string& level = p.traffic[i].level;
    add("traffic read", level, p.traffic[i].read_bytes, m.traffic[i].read_bytes, reads, reason);
    add("traffic write", level, p.traffic[i].write_bytes, m.traffic[i].write_bytes, writes, reason);
  };
  add("tensor_flop", "", p.work[0].second, m.work[0].second, 0, "the counter counts what the tiles execute");
  both(0, 0.03, 0.03, "caches and launch data");
  both(1, 0.005, 0.01, "exact on known copies");
  both(3, {}, {}, "derived, not measured");
  add("operand_bytes read", "smem", p.traffic[2].operand_read_bytes, m.traffic[2].operand_read_bytes, 0.02,
      "exact on known work");
  add("xu", "", p.work[2].second, m.work[1].second, 0.1, "conversions and per-row work run there too");
  add("seconds", "", p.seconds, m.seconds, {}, "no bar on time yet");
}

// One summary: the page shows what it is given.
std::vector<Summary> summaries() {
  return {{.kernel = "fused_mma",
           .quantity = "traffic hbm read",
           .n = 48,
           .failed = 1,
           .mean = 0.05,
           .median = 0.01,
           .p90 = 0.02,
           .worst = 0.67},
          {.kernel = "reference",
           .quantity = "seconds",
           .n = 12,
           .failed = 0,
           .mean = 0.2,
           .median = 0.2,
           .p90 = 0.3,
           .worst = 0.33}};
}

TileMap tile_map() {
  TileMap map{.title = "flash2 forward, d = 128, N = 4096, fp16: predicted time of each tile (synthetic test data)",
              .kernel = "fused_mma",
              .hardware = "h200"};
  for (const double q : {64, 128, 192, 256})
    for (const double kv : {32, 64, 96, 128, 192, 256}) {
      const double needed = (q * 128 + 4 * kv * 128) * 2;
      Tile tile{.q = q, .kv = kv, .warps = q / 16, .stages = 2};
      if (q == 192 && kv == 96) tile.built = false;
      else if (needed > 232448) tile.level = "smem", tile.needed_bytes = needed, tile.available_bytes = 232448;
      else if (q * kv > 128 * 256)
        tile.level = "register", tile.needed_bytes = q * kv * 4 + q * 512, tile.available_bytes = 262144;
      else tile.seconds = 4.2e-4 * (1 + 40 / q + 12 / kv), tile.l2_read_bytes = std::round(33554432 * (1 + 8192 / q));
      tile.feasible = tile.level.empty();
      map.cells.push_back(tile);
    }
  return map;
}

ReportDerivation derivation() {
  ReportDerivation derivation{.point = "p0", .title = "fused_mma, tile 128 x 64, d = 128, N = 4096 (synthetic)"};
  derivation.paragraphs = {"Each thread block holds one tile of 128 query rows of one head.",
                           "A key tile is loaded once by every query tile of its head: 4096 / 128 = 32 times in all."};
  derivation.pseudocode =
      "for head in heads:                     # grid\n  for q_tile in range(0, q_len, 128):  # grid\n"
      "    load Q[q_tile]                     # l2 -> smem, once\n    store O / l                        # once\n";
  const std::string whole = "heads * q_len * d * 2", repeated = "heads * kv_len * d * 2 * ceil(q_len / 128)";
  const auto term = [&](const char* array, const char* direction, const std::string& formula, double bytes,
                        std::vector<std::string> because) {
    derivation.terms.push_back({.boundary = "l2",
                                .array = array,
                                .direction = direction,
                                .formula = formula,
                                .bytes = bytes,
                                .because = std::move(because)});
  };
  term("Q", "read", whole, 33554432, {"held by the tile of the group loop over q"});
  for (const char* array : {"K", "V"})
    term(array, "read", repeated, 1073741824,
         {"streamed by the loop over kv", "repeated by the group loop over q: 32 tiles"});
  term("O", "write", whole, 33554432, {"stored once when the stream ends"});
  return derivation;
}

}  // namespace

Report report_fixture() {
  Random random(12345);
  Report report{.title = "Attention on H200: SYNTHETIC TEST DATA", .generated = "2026-11-20", .revision = "test"};
  report.notes = {"These numbers are synthetic; no GPU was involved."};
  report.gpus = {{.id = "h200", .name = "NVIDIA H200", .chip = "GH100", .roofs = roofs}};
  for (const char* dtype : {"fp16", "bf16"}) {
    report.gpus.front().peaks.push_back({dtype, "tensor", 9.894e14});
    report.gpus.front().peaks.push_back({dtype, "mma.sync", 6.596e14});
  }
  std::vector<Shape> shapes;
  for (const double n : {512, 1024, 2048, 4096, 8192, 16384})
    for (const double d : {64, 128})
      for (const bool causal : {false, true})
        for (const char* dtype : {"fp16", "bf16"})
          shapes.push_back({"fused_mma", n, d, 128, d == 64 ? 128.0 : 64.0, causal, dtype});
  for (const double n : {128, 512, 1000, 2048, 4096, 8192})
    for (const double d : {64, 128}) shapes.push_back({"reference", n, d, 128, 128});
  for (const Shape& s : shapes) {
    const std::size_t i = report.points.size();
    ReportPoint point{.id = fmt::format("p{}", i), .kernel = s.kernel, .dtype = s.dtype, .gpu = "h200"};
    point.tile = fmt::format("q={},kv={},warps=4", s.q, s.kv);
    point.label =
        fmt::format("{} {}x{} d{} N{}{} {}", s.kernel, s.q, s.kv, s.d, s.n, s.causal ? " causal" : "", s.dtype);
    point.predicted = predicted(s, point.bound_by);
    point.split = TimeSplit{.waits = *point.predicted.seconds * 0.3,
                            .launch = *point.predicted.seconds * 0.1,
                            .busiest = {{"tensor", *point.predicted.seconds * 0.6}}};
    point.savings = {{"tensor", 0.05}, {"hbm", 0.01}};
    if (i % 29 != 28) point.measured = measured(point.predicted, i == 7, random);
    add_rows(report.rows, point);
    report.points.push_back(std::move(point));
  }
  name_points(report.points);
  report.summary = summaries();
  report.tile_map = tile_map();
  report.derivation = derivation();
  report.pictures = pictures_fixture();
  return report;
}

}  // namespace tilescope::page_test
