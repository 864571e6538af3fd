#include "cli/output/version.h"

#include <fmt/format.h>

#include "cli/output/fit.h"
#include "cli/output/revision.h"
#include "validate/measure/counters/counters.h"

namespace tilescope::cli {
namespace {

struct Schema {
  const char* name;
  int number;
};
// The schemas that the program reads and writes. help_test.cpp compares this list with the sources.
constexpr Schema schemas[] = {
    {"architectures", 1}, {"attention-facts", 1}, {"ablation", 1},      {"baseline", 1},   {"basis-errors", 1},
    {"calls", 1},         {"capture", 1},         {"capture-facts", 1}, {"check", 1},      {"choices", 1},
    {"code", 1},          {"comparison", 1},      {"compare", 1},       {"derivation", 1}, {"diagram", 1},
    {"errors", 1},        {"experiment", 1},      {"family", 1},        {"hardware", 1},   {"hardware-record", 1},
    {"import", 1},        {"kernel", 1},          {"ideal-errors", 1},  {"lack-costs", 1}, {"launch-evidence", 1},
    {"lowering", 1},      {"lowering-result", 1}, {"mask", 1},          {"measured", 1},   {"metric-names", 1},
    {"model", 1},         {"operators", 1},       {"prediction", 1},    {"published", 1},  {"published-comparison", 1},
    {"record", 1},        {"report", 1},          {"run", 1},           {"schedule", 1},   {"search", 1},
    {"sensitivity", 1},   {"sweep-shard", 1},     {"timeline", 1},      {"workload", 1},
};

}  // namespace

std::string program_version() { return fmt::format("{}, revision {}", TILESCOPE_VERSION, build_revision()); }

std::string version_text() {
  std::string text = fmt::format("tilescope {} (git revision {})\n", TILESCOPE_VERSION, build_revision());
  const auto cupti = validate::cupti_version();
  text += cupti ? fmt::format("CUDA {}, CUPTI {}: kernels can be measured on a GPU\n", build_cuda_version(), *cupti)
                : "built without CUDA and CUPTI: this build cannot measure kernels\n";
  std::string list = "schemas:";
  for (const Schema& schema : schemas) list += fmt::format(" tilescope/{}/{}", schema.name, schema.number);
  return text + fitted(list, 79) + "\n";
}

}  // namespace tilescope::cli
