// Records of other tools, and sizes that cannot be.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "records/example_record.h"
#include "records/record_lines.h"

namespace source_test {

using namespace tilescope;
using namespace tilescope::validate;

namespace {

Record own_record() {
  Record record = example_record();
  record.point = {.kernel = "fused_mma", .workload = {1, 16, 16, 1024, 1024, 128, 128}};
  MeasuredLaunch island;
  island.name = "forward";
  island.launch = {.grid = {8, 16, 1},
                   .block = {128, 1, 1},
                   .registers_per_thread = 168,
                   .static_smem = 0,
                   .dynamic_smem = 49152,
                   .local_bytes_per_thread = 0,
                   .blocks_per_unit = 2};
  island.counters = {{"dram__bytes_read.sum", 33554432}};
  record.islands = {island};
  record.counters = island.counters;
  return record;
}

// What a trace of PyTorch tells, and no more.
Record imported_record() {
  Record record;
  record.experiment = "trace";
  record.environment.hardware = "h100_sxm", record.environment.tool = "torch.profiler";
  record.point = own_record().point;
  record.source = ImportSource{.file = "trace.json", .launches = "3, 7", .caches = Caches::unknown, .sm_hz = 0};
  record.program_seconds = {1e-4, 1.25e-4};
  MeasuredLaunch island;
  island.name = "flash_fwd_kernel";
  island.launch.total_smem = 65536;
  record.islands = {island};
  return record;
}

std::string refusal(nlohmann::json json) {
  try {
    parse_record(json.dump(), "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

nlohmann::json json_of(const Record& record) { return nlohmann::json::parse(to_json(record)); }

}  // namespace

TEST_CASE("an imported record states what is known and nothing else") {
  const Record record = imported_record();
  const nlohmann::json json = json_of(record);
  for (const char* key : {"passes", "flush_bytes", "correctness", "unavailable", "clocks"})
    CHECK_FALSE(json.contains(key));
  CHECK(json["environment"] == nlohmann::json{{"tool", "torch.profiler"}, {"hardware", "h100_sxm"}});
  CHECK(json["islands"][0]["launch"]["smem_per_block"] == nlohmann::json{{"total", 65536}});
  CHECK_FALSE(json["islands"][0]["launch"].contains("registers_per_thread"));
  const Record read = parse_record(to_json(record), "r.json");
  CHECK(to_json(read) == to_json(record));
  CHECK(record_line(read) == record_line(record));
  CHECK(read.passes == 0);
  CHECK_FALSE(read.correctness.has_value());
  CHECK_FALSE(read.environment.ecc.has_value());
  CHECK_FALSE(read.islands.front().launch.registers_per_thread.has_value());
  CHECK(read.program_seconds == record.program_seconds);
}

TEST_CASE("a record of our own must state everything that an imported one may lack") {
  const nlohmann::json whole = json_of(own_record());
  CHECK(refusal(whole).empty());
  for (const char* key :
       {"/passes", "/flush_bytes", "/correctness", "/unavailable", "/environment/driver", "/environment/cupti",
        "/environment/ecc", "/environment/date", "/environment/revision", "/islands/0/launch/registers_per_thread",
        "/islands/0/launch/smem_per_block/static", "/islands/0/launch/spills", "/islands/0/launch/blocks_per_unit"}) {
    CAPTURE(key);
    nlohmann::json changed = whole;
    const nlohmann::json::json_pointer at(key);
    changed[at.parent_pointer()].erase(at.back());
    CHECK(refusal(changed).find("is missing") != std::string::npos);
  }
}

TEST_CASE("a source and the tool of the environment stand together") {
  nlohmann::json own = json_of(own_record());
  own["source"] = {{"file", "x"}, {"launches", "1"}, {"caches", "cold"}};
  CHECK(refusal(own).find("source") != std::string::npos);
  nlohmann::json imported = json_of(imported_record());
  imported.erase("source");
  CHECK(refusal(imported).find("source") != std::string::npos);
  imported = json_of(imported_record());
  imported["source"]["caches"] = "lukewarm";
  CHECK(refusal(imported).find("expected cold, warm or unknown") != std::string::npos);
}

TEST_CASE("sizes that cannot be are refused in a record as on the command line") {
  const auto refused = [](const char* key, std::int64_t value) {
    nlohmann::json json = json_of(own_record());
    json[nlohmann::json::json_pointer(key)] = value;
    return refusal(json);
  };
  CHECK(refused("/point/workload/heads_kv", 32).find("multiple of heads_kv") != std::string::npos);
  CHECK(refused("/point/workload/heads_kv", 5).find("multiple of heads_kv") != std::string::npos);
  CHECK(refused("/point/workload/q_len", std::int64_t{1} << 41).find("workload") != std::string::npos);
  CHECK(refused("/point/warps", 4611686018427387904).find("must be from 0 to 64") != std::string::npos);
  CHECK(refused("/point/warps", 1000000000).find("must be from 0 to 64") != std::string::npos);
  CHECK(refused("/point/tile/q", INT64_MAX).find("must be from 0 to") != std::string::npos);
  CHECK(refused("/point/stages", 100).find("must be from 0 to 64") != std::string::npos);
  nlohmann::json json = json_of(own_record());
  json["seconds"]["steady"] = {0, 0, 0};
  CHECK(refusal(json).find("seconds.steady: holds a time of 0 s") != std::string::npos);
}

}  // namespace source_test
