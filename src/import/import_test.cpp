// Files of each form, as the tools write them, from a program on an H100.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/files.h"
#include "import/make_records.h"
#include "import/point_of_call.h"
#include "import/read_tool_file.h"
#include "records/record_lines.h"

namespace import_test {

using namespace tilescope;
using namespace tilescope::imported;

namespace {

const std::filesystem::path testdata = std::filesystem::path(TILESCOPE_SOURCE_DIR) / "src" / "import" / "testdata";
const char* const point_of_forward =
    "name=flash_fwd_kernel batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16";
const char* const point_of_ncu = "batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16";

struct All {
  ToolFile file;
  std::vector<FoundRun> runs;
  std::vector<validate::Record> records;
};

All all_of(const std::filesystem::path& path, const Asked& asked = {}) {
  const ImportTables tables = load_tables({});
  All all{read_tool_file(path, tables), {}, {}};
  const HardwareProfile hardware = hardware_of(all.file, asked.hardware);
  all.runs = recognise(all.file, tables.operators, hardware, asked);
  all.records = make_records(all.file, all.runs, {.experiment = "test", .hardware = hardware.id, .caches = {}});
  return all;
}

std::string problem_of(const std::filesystem::path& path, const Asked& asked = {}) {
  try {
    all_of(path, asked);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const validate::Record* record_of(const All& all, const std::string& start) {
  for (const validate::Record& record : all.records)
    if (point_id(record.point).starts_with(start)) return &record;
  return nullptr;
}

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tilescope-import-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    write_file(folder_ / name, text);
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("a PyTorch trace with shapes gives a record of each point of each described kernel") {
  const All all = all_of(testdata / "torch_trace.json.gz");
  CHECK(all.records.size() == 10);
  const validate::Record* forward = record_of(all, "pytorch_flash2-bf16-b2-hq32-hkv8-q1024-kv1024-d128-none");
  REQUIRE(forward);
  CHECK(forward->environment.hardware == "h100_sxm");
  CHECK(forward->environment.tool == "torch.profiler");
  CHECK(forward->environment.cuda == "13.0");
  REQUIRE(forward->program_seconds.size() == 1);
  CHECK(forward->program_seconds.front() == doctest::Approx(110.274e-6));
  CHECK(forward->islands.front().launch.grid == std::array<std::int64_t, 3>{8, 2, 32});
  CHECK(forward->islands.front().launch.registers_per_thread == 255);
  CHECK_FALSE(forward->islands.front().launch.static_smem.has_value());
  CHECK(forward->counters.empty());
  CHECK_FALSE(forward->correctness.has_value());
  const validate::Record* backward = record_of(all, "pytorch_flash2_backward_d128-bf16-b2-hq16");
  REQUIRE(backward);
  REQUIRE(backward->islands.size() == 3);
  CHECK(backward->islands[1].name == "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel");
  CHECK(backward->program_seconds.front() == doctest::Approx((20.192 + 386.121 + 20.608) * 1e-6));
}

TEST_CASE("launches of a trace that no descriptor describes say why") {
  const All all = all_of(testdata / "torch_trace.json.gz");
  std::size_t cudnn = 0, grouped = 0;
  for (const FoundRun& run : all.runs) {
    cudnn += run.reason.find("sdpa_sm90_flash_bprop_wgmma") != std::string::npos;
    grouped += run.reason.find("grouped heads") != std::string::npos;
    if (run.point) CHECK(run.reason.empty());
    else CHECK(run.launches.size() == 1);
  }
  CHECK(cudnn > 0);
  CHECK(grouped > 0);
}

TEST_CASE("ncu's CSV of a row a launch gives the counters that ncu printed, with what it says of GPU and launch") {
  const Asked asked{.hardware = {}, .kernel = {}, .points = {parse_given_point(point_of_forward)}};
  const All all = all_of(testdata / "ncu_raw.csv", asked);
  REQUIRE(all.records.size() == 1);
  const validate::Record& record = all.records.front();
  CHECK(record.point.kernel == "pytorch_flash2");
  CHECK(record.environment.hardware == "h100_sxm");
  CHECK(record.environment.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(record.environment.ecc == true);
  CHECK(record.environment.l2_bytes == 52428800);
  CHECK(record.environment.sm_clock_max_hz == 1.98e9);
  CHECK(record.passes == 4);
  CHECK(record.source->launches == "0, 1, 6");
  REQUIRE(record.cold_seconds.size() == 3);
  CHECK(record.cold_seconds[0] == 213344e-9);
  CHECK(record.counters.at("l1tex__m_l1tex2xbar_write_bytes.sum") == 83591168);
  const auto& samples = record.islands.front().samples.at("dram__bytes_read.sum");
  REQUIRE(samples.size() == 3);
  CHECK(samples[0] == 52926976);
  CHECK(record.counters.at("dram__bytes_read.sum") >= *std::min_element(samples.begin(), samples.end()));
  CHECK(record.islands.front().launch.dynamic_smem == 65536);
  CHECK(record.source->sm_hz == doctest::Approx(1.45e9).epsilon(0.02));
}

TEST_CASE("ncu's CSV of a row a metric gives counters, titles of sections and facts") {
  const Asked asked{.hardware = "h100_sxm", .kernel = {}, .points = {parse_given_point(point_of_ncu)}};
  const All all = all_of(testdata / "ncu_long.csv", asked);
  REQUIRE(all.records.size() == 1);
  const validate::Record& record = all.records.front();
  CHECK(record.point.kernel == "cudnn_forward");
  CHECK(record.counters.at("lts__t_sectors_op_read.sum") > 9e6);
  CHECK(record.cold_seconds.front() == 101728e-9);
  CHECK(record.source->sm_hz == doctest::Approx(1.4319e9).epsilon(1e-2));
  CHECK(record.islands.front().launch.registers_per_thread == 168);
}

TEST_CASE("kernels of several launches are joined, and counters of a run are sums over them") {
  const std::string backward =
                        "name=flash_bwd pass=backward batch=2 heads_q=16 q_len=2k head_dim=128 mask=causal dtype=bf16",
                    split = "name=splitkv batch=4 heads_q=32 heads_kv=8 q_len=1 kv_len=8k head_dim=128 dtype=bf16";
  const Asked asked{.hardware = {}, .kernel = {}, .points = {parse_given_point(backward), parse_given_point(split)}};
  const All all = all_of(testdata / "ncu_raw.csv", asked);
  const validate::Record *three = record_of(all, "pytorch_flash2_backward_d128"),
                         *two = record_of(all, "pytorch_flash2_split");
  REQUIRE(three);
  REQUIRE(two);
  CHECK(three->islands.size() == 3);
  CHECK(two->islands.size() == 2);
  CHECK(two->point.splits == 7);
  CHECK(two->islands[1].name == "flash_fwd_splitkv_combine_kernel");
  CHECK(two->counters.at("dram__bytes_read.sum") ==
        two->islands[0].counters.at("dram__bytes_read.sum") + two->islands[1].counters.at("dram__bytes_read.sum"));
  const Asked cut{.hardware = {}, .kernel = {}, .points = {parse_given_point(split + " launches=2")}};
  CHECK(problem_of(testdata / "ncu_raw.csv", cut).find("no multiple of the 2") != std::string::npos);
}

TEST_CASE("imported records are read back as they were written") {
  const Asked asked{.hardware = {}, .kernel = {}, .points = {parse_given_point(point_of_forward)}};
  const Scratch scratch;
  for (const All& all : {all_of(testdata / "torch_trace.json.gz"), all_of(testdata / "ncu_raw.csv", asked)}) {
    const std::string text = validate::to_lines(all.records);
    const auto file = scratch.write("records.jsonl", text);
    CHECK(validate::to_lines(validate::read_records(file)) == text);
  }
}

TEST_CASE("ncu's CSV without a point, or of an unknown GPU, asks for it") {
  const Asked asked{.hardware = {}, .kernel = {}, .points = {parse_given_point(point_of_ncu)}};
  CHECK(problem_of(testdata / "ncu_long.csv", asked).find("--hardware: is missing") != std::string::npos);
  Asked hostile{.hardware = {},
                .kernel = {},
                .points = {parse_given_point("name=flash_fwd batch=2 heads_q=16 heads_kv=5 q_len=2k dtype=bf16")}};
  CHECK(problem_of(testdata / "ncu_raw.csv", hostile).find("heads_kv") != std::string::npos);
}

TEST_CASE("an nsys export with ranges of PyTorch needs formats and masks alone, one without them a point") {
  const Scratch scratch;
  const std::filesystem::path file = scratch.write("empty", "").parent_path() / "nsys.sqlite";
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &connection) == SQLITE_OK);
  const std::string sql = read_file(testdata / "nsys.sql");
  REQUIRE(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  const Asked rest{.hardware = {}, .kernel = {}, .points = {parse_given_point("dtype=bf16 mask=causal")}};
  const All all = all_of(file, rest);
  CHECK(all.records.size() == 3);
  const validate::Record* backward = record_of(all, "pytorch_flash2_backward_d128-bf16-b2-hq16");
  REQUIRE(backward);
  CHECK(backward->islands.size() == 3);
  CHECK(backward->islands[1].launch.dynamic_smem == 147456);
  CHECK(backward->environment.tool == "nsys");
  CHECK(backward->environment.chip == "GH100");
  CHECK(backward->program_seconds.front() == doctest::Approx((20.192 + 386.121 + 20.608) * 1e-6));
  CHECK(all_of(file).records.empty());
  REQUIRE(sqlite3_exec(connection, "DROP TABLE NVTX_EVENTS", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
  const std::string sizes = std::string(point_of_ncu) + " name=flash_fwd_kernel";
  const All by_point = all_of(file, {.hardware = {}, .kernel = {}, .points = {parse_given_point(sizes)}});
  REQUIRE(by_point.records.size() == 1);
  CHECK(by_point.records.front().point.kernel == "pytorch_flash2");
  const auto other = std::find_if(by_point.runs.begin(), by_point.runs.end(), [](const FoundRun& run) {
    return run.reason.find("grid or block") != std::string::npos;
  });
  CHECK(other != by_point.runs.end());
}

TEST_CASE("a trace without shapes says so, and takes a point") {
  const Scratch scratch;
  const std::string text =
      R"json({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017493504,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132}], "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "aten::_scaled_dot_product_flash_attention", "pid": 1, "tid": 1, "ts": 1.0,
       "dur": 9, "args": {"External id": 3}},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
       "args": {"correlation": 7}},
      {"ph": "X", "cat": "kernel", "name": "void pytorch_flash::flash_fwd_kernel<Traits<128>, true>(Params)", "pid": 0,
       "tid": 7, "ts": 20.5, "dur": 165,
       "args": {"correlation": 7, "device": 0, "grid": [16, 2, 16], "block": [128, 1, 1]}}]})json";
  const auto file = scratch.write("t.json", text);
  const All all = all_of(file);
  CHECK(all.records.empty());
  REQUIRE(all.runs.size() == 1);
  CHECK(all.runs.front().reason.find("record_shapes=True") != std::string::npos);
  REQUIRE(all.file.notes.size() == 1);
  const All given = all_of(file, {.hardware = {}, .kernel = {}, .points = {parse_given_point(point_of_ncu)}});
  REQUIRE(given.records.size() == 1);
  CHECK(given.records.front().point.kernel == "pytorch_flash2");
  CHECK(given.records.front().source->launches == "7");
}

TEST_CASE("arguments that change what is computed are no point") {
  const ImportTables tables = load_tables({});
  const AttentionOperator& kind = *tables.operators.find("aten::_scaled_dot_product_efficient_attention");
  ToolOperator call{.name = kind.name,
                    .dims = {{2, 8, 64, 64}, {2, 8, 96, 64}, {2, 8, 96, 32}, {}, {}, {}, {}, {}},
                    .types = {"c10::Half", "c10::Half", "c10::Half", "", "Scalar", "Scalar", "Scalar", ""},
                    .values = {"", "", "", "", "True", "0.", "False", ""}};
  const CallPoint good = point_of_call(call, kind, Options());
  CHECK(good.problem.empty());
  CHECK(good.options.text("kv-len") == "96");
  CHECK(good.options.text("v-head-dim") == "32");
  CHECK(good.options.text("mask") == "none");
  const auto problem = [&](auto&& change) {
    ToolOperator changed = call;
    change(changed);
    return point_of_call(changed, kind, Options()).problem;
  };
  CHECK(problem([](ToolOperator& c) { c.values[5] = "0.1"; }).find("dropout") != std::string::npos);
  CHECK(problem([](ToolOperator& c) {
          c.types[3] = "c10::Half", c.dims[3] = {2, 8, 64, 96};
        }).find("bias") != std::string::npos);
  CHECK(problem([](ToolOperator& c) { c.types[1] = "float"; }).find("formats") != std::string::npos);
  CHECK(problem([](ToolOperator& c) { c.dims[1] = {2, 8, 96, 32}; }).find("do not fit") != std::string::npos);
  CHECK(problem([](ToolOperator& c) { c.dims[0] = {8, 64, 64}; }).find("four axes") != std::string::npos);
  CHECK(problem([](ToolOperator& c) { c.values[6] = "2"; }).find("mask of a kind") != std::string::npos);
  CHECK(problem([](ToolOperator& c) { c.values.clear(); }).find("--point mask=causal") != std::string::npos);
}

namespace {

ToolLaunch launch_with(const char* id, const char* name) {
  ToolLaunch launch;
  launch.id = id, launch.name = name;
  return launch;
}

}  // namespace

TEST_CASE("words of --point choose launches and give sizes; anything else is refused") {
  const GivenPoint point = parse_given_point("  batch=2 q_len=4k name=flash launches=0-2,7");
  CHECK(point.options.integer("q-len", 1, 1 << 20) == 4096);
  CHECK(point.covers(launch_with("7", "x_flash_y")));
  CHECK(point.covers(launch_with("1", "flash")));
  CHECK_FALSE(point.covers(launch_with("3", "flash")));
  CHECK_FALSE(point.covers(launch_with("1", "other")));
  CHECK_THROWS_WITH_AS(parse_given_point("batch"), doctest::Contains("expected NAME=VALUE"), InputError);
  CHECK_THROWS_WITH_AS(parse_given_point("batches=2"), doctest::Contains("did you mean"), InputError);
  CHECK_THROWS_WITH_AS(parse_given_point("launches=3-1"), doctest::Contains("launches=0-3,7"), InputError);
}

TEST_CASE("the short name of a kernel has no type, namespace, template arguments or parameters") {
  CHECK(short_name("void pytorch_flash::flash_fwd_kernel<T<1, 2>, true>(P::Params)") == "flash_fwd_kernel");
  CHECK(short_name("void at::native::(anonymous namespace)::fill<float, 4>(int, long)") == "fill");
  CHECK(short_name("cudnn_kernel0_0") == "cudnn_kernel0_0");
  CHECK(short_name("<<<") == "<<<");
}

}  // namespace import_test
