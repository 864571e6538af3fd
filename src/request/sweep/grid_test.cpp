// The points of axes of every kind are those that predict answers, in order, whatever the number of threads.
#include "request/sweep/grid.h"

#include <doctest/doctest.h>

#include <random>

#include "base/error.h"
#include "base/parallel.h"
#include "base/test_seed.h"
#include "predict/explain/labels.h"
#include "request/answer.h"

namespace grid_test {

using namespace tilescope;

namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Options options_of(const Given& given) { return checked_options(given, point_options() + sweep_axis_options()); }

std::string message_of(const Given& given) {
  try {
    SweepGrid grid(options_of(given));
  } catch (const InputError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

const Given base{{"schedule", "flash2"}, {"heads", "8"}, {"head_dim", "64"}, {"l2", "closed"}, {"tile", "q=64,kv=64"}};

Given with(Given given, const std::string& name, const std::string& value) {
  given.emplace_back(name, value);
  return given;
}

// An axis, and the option that gives one of its values.
struct Drawn {
  std::string name;
  std::vector<std::string> values;
  std::function<Given(const std::string& value)> option;
};

std::vector<Drawn> drawn_axes() {
  const auto named = [](const std::string& name) {
    return [name](const std::string& value) { return Given{{name, value}}; };
  };
  return {{"hardware", {"h100_sxm", "a100_sxm_80", "l40s"}, named("hardware")},
          {"mask", {"none", "causal", "window:256"}, named("mask")},
          {"dtype", {"fp16", "bf16"}, named("dtype")},
          {"q_len", {"512", "1000", "2048"}, named("q_len")},
          {"kv_len", {"64", "4096"}, named("kv_len")},
          {"batch", {"1", "3"}, named("batch")},
          {"set.compute.units",
           {"60", "132"},
           [](const std::string& v) {
             return Given{{"set", "compute.units=" + v}};
           }},
          {"warps", {"4", "8"}, {}}};
}

}  // namespace

TEST_CASE("a point of random axes is the point that predict answers for its options") {
  std::mt19937 random(test_seed());
  int compared = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<Drawn> axes = drawn_axes();
    std::shuffle(axes.begin(), axes.end(), random);
    axes.resize(1 + random() % 4);
    const auto has = [&](const std::string& name) {
      return std::any_of(axes.begin(), axes.end(), [&](const Drawn& axis) { return axis.name == name; });
    };
    Given fixed = base;
    if (!has("hardware")) fixed.emplace_back("hardware", "h200_sxm");
    if (!has("q_len")) fixed.emplace_back("q_len", "700");
    Given swept = fixed;
    for (const Drawn& axis : axes) {
      std::string text = axis.name + "=";
      for (const std::string& value : axis.values) text += (text.back() == '=' ? "" : ",") + value;
      swept.emplace_back("axis", text);
    }
    const SweepGrid grid(options_of(swept));
    std::size_t number = 0;
    each_point(grid, [&](const SweptPoint& point) {
      Given given = fixed;
      std::string tile = "q=64,kv=64";
      std::size_t rest = number++;
      for (const Drawn& axis : axes) {
        const std::string& value = axis.values[rest % axis.values.size()];
        rest /= axis.values.size();
        if (axis.name == "warps") tile += ",warps=" + value;
        else
          for (const auto& option : axis.option(value)) given.push_back(option);
      }
      for (auto& [name, value] : given)
        if (name == "tile") value = tile;
      const Answer answered = answer(checked_options(given, point_options()));
      CAPTURE(tile_label(answered.plan, answered.point));
      REQUIRE(point.predicted() != nullptr);
      REQUIRE(point.of->hardware->id == answered.hardware.id);
      REQUIRE(point.point.mask.text == answered.point.mask.text);
      REQUIRE(point.prediction.traffic == answered.prediction.traffic);
      REQUIRE(point.prediction.time.total == answered.prediction.time.total);
      ++compared;
    });
    CHECK(number == grid.size());
  }
  CHECK(compared > 30);
}

TEST_CASE("a sweep that leaves out times, or all but the memory's bytes, has the other numbers of one with them") {
  for (const char* axis : {"tile_q=64,128,4096", "mask=none,causal,window:100", "dtype=fp16,fp8_e4m3,nvfp4"}) {
    Given given = base;
    if (std::string(axis).starts_with("tile_q"))
      std::erase_if(given, [](const auto& option) { return option.first == "tile"; });
    given = with(with(given, "axis", "hardware=h200_sxm,a100_sxm_80,mi300x"), "axis", axis);
    given = with(given, "axis", "q_len=100,1k,3001");
    const SweepGrid grid(options_of(given));
    const auto rows = [&](Wanted wanted) {
      std::vector<SweptPoint> found;
      grid.each_point(
          {.places = {0, grid.size()}, .threads = 1, .wanted = wanted, .progress = {}},
          [&](std::size_t, const SweptPoint& point) { found.push_back(point); }, [](std::size_t) {});
      return found;
    };
    const std::vector<SweptPoint> all = rows(Wanted::times);
    for (const Wanted wanted : {Wanted::counts, Wanted::memory, Wanted::beyond_l2}) {
      const std::vector<SweptPoint> some = rows(wanted);
      REQUIRE(some.size() == all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(i);
        REQUIRE(some[i].reasons == all[i].reasons);
        if (!all[i].predicted()) continue;
        const Prediction &own = some[i].prediction, &whole = all[i].prediction;
        CHECK(own.feasible == whole.feasible);
        CHECK(own.compulsory_bytes == whole.compulsory_bytes);
        CHECK(own.footprint.back().bytes == whole.footprint.back().bytes);
        for (const LevelId level : counted_levels)
          if (wanted == Wanted::counts || (wanted == Wanted::memory && level == LevelId::l2) || beyond_l2(level))
            CHECK(own.traffic[level] == whole.traffic[level]);
        if (wanted == Wanted::counts) CHECK(own.work.tensor_flop == whole.work.tensor_flop);
      }
    }
  }
}

TEST_CASE("--where leaves exactly the points for which it holds, in their order, on any number of threads") {
  const Given swept =
      with(with(with(base, "hardware", "h200_sxm"), "axis", "q_len=128:2k:+128"), "axis", "kv_len=128:2k:+128");
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
  each_point(SweepGrid(options_of(swept)), [&](const SweptPoint& point) {
    const Workload& w = point.point.workload;
    if (w.kv_len >= w.q_len && w.q_len % 256 == 0 && w.kv_len < 1536) wanted.emplace_back(w.q_len, w.kv_len);
  });
  REQUIRE(wanted.size() > 10);
  const SweepGrid grid(options_of(with(swept, "where", "kv_len >= q_len and q_len % 256 == 0 and kv_len < 1536")));
  for (const std::size_t threads : {1U, 2U, 7U}) {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> slots(slots_of(threads));
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    grid.each_point(
        {.places = {0, grid.size()}, .threads = threads, .progress = {}},
        [&](std::size_t slot, const SweptPoint& point) {
          slots[slot].emplace_back(point.point.workload.q_len, point.point.workload.kv_len);
        },
        [&](std::size_t slot) {
          found.insert(found.end(), slots[slot].begin(), slots[slot].end());
          slots[slot].clear();
        });
    CHECK(found == wanted);
  }
  CHECK(message_of(with(swept, "where", "kv_len >= 2k and keys > 3")).find("'keys' is no size") != std::string::npos);
  CHECK(message_of(with(swept, "where", "kv_len / 0 > 1")).find("divides by zero") != std::string::npos);
  const SweepGrid undefined(options_of(with(swept, "where", "kv_len / (q_len - 256) > 1")));
  int answered = 0;
  CHECK_THROWS_WITH_AS(each_point(undefined, [&](const SweptPoint&) { ++answered; }),
                       doctest::Contains("is no finite number at kv_len 128, q_len 256"), InputError);
  CHECK(answered == 0);
}

TEST_CASE("a combination that predict refuses keeps its points with the reason, unless predict refuses all") {
  const Given given{
      {"hardware", "h200_sxm"}, {"q_len", "1k"}, {"head_dim", "128"}, {"axis", "kernel=fused_mma,reference"}};
  int refused = 0, predicted = 0;
  each_point(SweepGrid(options_of(with(given, "axis", "dtype.kv=fp16,int8"))), [&](const SweptPoint& point) {
    if (point.predicted() != nullptr) return void(++predicted);
    ++refused;
    CHECK(!point.reasons.front().empty());
  });
  CHECK(predicted >= 1);
  CHECK(refused >= 1);
  CHECK(message_of(with(given, "axis", "dtype.nothing=fp16,int8")).find("no array takes the key") != std::string::npos);
}

TEST_CASE("axes that were slips of the pen are refused with their numbers") {
  const Given given = with(base, "hardware", "h200_sxm");
  CHECK(message_of(with(given, "axis", "q_len=1k:128k:2")) ==
        "'1k:128k:2' gives 65,025 values: :2 adds 2, :x2 multiplies; write --yes to take them all");
  CHECK(message_of(with(with(given, "axis", "q_len=1k:128k:2"), "yes", "yes")).empty());
  CHECK(SweepGrid(options_of(with(with(given, "axis", "q_len=1:1000000000:+1"), "yes", "yes"))).points() == 1000000000);
  CHECK(message_of(with(with(given, "axis", "hardware=l40s"), "q_len", "1k")) ==
        "'hardware' is given by --hardware too; leave out one of them");
  CHECK(message_of(with(with(given, "axis", "mask=none,none"), "q_len", "1k")) == "'mask' has 'none' twice");
  CHECK(message_of(with(with(given, "axis", "maks=none"), "q_len", "1k")).find("did you mean 'mask'?") !=
        std::string::npos);
  CHECK(message_of(with(with(given, "axis", "q_len=1k"), "seed", "3")) == "is of --random N; leave it out");
}

TEST_CASE("an axis and an option that set the same are refused, and the message names both") {
  struct Both {
    std::string axis, option, value;
  };
  std::vector<Both> all{{"seqlen=1k,2k", "q-len", "4k"},
                        {"tile_kv=32,64", "tile", "q=64,kv=16"},
                        {"warps=4,8", "tile", "q=64,kv=16,warps=2"},
                        {"stages=1,2", "tile", "q=64,kv=16,stages=2"},
                        {"splits=2,4", "tile", "splits=8"},
                        {"tile_splits=2,4", "splits", "8"},
                        {"hardware=l40s,h100_sxm", "hardware", "h200_sxm"},
                        {"set.compute.units=60,70", "set", "levels.hbm.bandwidth=+20%,compute.units=80"},
                        {"dtype.kv=fp16,fp8", "dtype", "fp16,kv=int8"},
                        {"dtype.k=fp16,fp8", "dtype", "kv=int8,o=bf16"},
                        {"dtype.kv=fp16,fp8", "dtype", "v=int8"},
                        {"mask=none,causal", "mask", "causal"},
                        {"l2=walk,closed", "l2", "walk"},
                        {"basis=stated,derived", "basis", "derived"},
                        {"pass=forward", "pass", "forward"},
                        {"schedule=split-kv", "schedule", "split-kv"}};
  for (const std::string size : {"batch", "heads-q", "heads-kv", "q-len", "kv-len", "head-dim", "v-head-dim"})
    all.push_back({size + "=64,128", size, "64"});
  for (const auto& [axis, option, value] : all) {
    CAPTURE(axis);
    Given given{{"axis", axis}, {option, value}};
    const auto needs = [&](const std::string& name, const std::string& own) {
      if (option != name && !axis.starts_with(name)) given.emplace_back(name, own);
    };
    needs("hardware", "h200_sxm"), needs("schedule", "split-kv");
    if (axis.starts_with("heads-kv")) given.emplace_back("heads-q", "128");
    if (option != "q-len" && !axis.starts_with("seqlen")) needs("q_len", "1k");
    const std::string message = message_of(given);
    std::string name = axis.substr(0, axis.find('='));
    if (name == "splits") name = "tile_splits";
    std::replace(name.begin(), name.end(), '-', '_');
    CHECK(message.find("'" + name + "'") != std::string::npos);
    CHECK(message.find("--" + option) != std::string::npos);
    CHECK(message.find("leave out one of them") != std::string::npos);
    Given without = given;
    std::erase(without, std::pair<std::string, std::string>{option, value});
    if (option == "set") without.emplace_back("set", "levels.hbm.bandwidth=+20%");
    if (option == "q-len" || option == "hardware" || option == "schedule") continue;
    CHECK(message_of(without).empty());
  }
}

}  // namespace grid_test
