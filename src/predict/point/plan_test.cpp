#include "predict/point/plan.h"

#include <doctest/doctest.h>

#include "base/files.h"

namespace plan_test {

using namespace tilescope;

TEST_CASE("a descriptor is the shipped one by its name or by its content, not by the name that it states") {
  const std::filesystem::path root = TILESCOPE_SOURCE_DIR, own = root / "kernels" / "fused_mma";
  CHECK(load_plan_for_kernel("fused_mma", root).shipped);
  CHECK(load_plan_for_kernel((own / "kernel.yaml").string(), root).shipped);
  const TemporaryDirectory folder("tilescope-plan");
  const std::filesystem::path copy = std::filesystem::path(folder.path()) / "kernel.yaml";
  std::string text = read_file(own / "kernel.yaml");
  write_file(copy.string(), text);
  for (const char* file : {"code.json", "steps.zst"}) std::filesystem::copy_file(own / file, copy.parent_path() / file);
  CHECK(load_plan_for_kernel(copy.string(), root).shipped);
  text.replace(text.find("stages: 2"), 9, "stages: 1");
  write_file(copy.string(), text);
  CHECK_FALSE(load_plan_for_kernel(copy.string(), root).shipped);
  CHECK_FALSE(load_plan_for_schedule("flash2", root).shipped);
}

}  // namespace plan_test
