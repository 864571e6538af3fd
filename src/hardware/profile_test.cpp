#include "hardware/profile.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace profile_test {

using namespace tilescope;

namespace {

const std::filesystem::path hardware = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";

std::string message_of_find(const std::string& id) {
  try {
    find_profile(id, hardware);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

// Findings about the shipped H200 profile with the first `from` replaced by `to`; the file is named "P" in them.
std::string findings_with(const std::string& from, const std::string& to) {
  std::string text = read_file(hardware / "h200_sxm.yaml");
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const auto file = std::filesystem::temp_directory_path() / ("tilescope_profile_" + std::to_string(::getpid()));
  std::ofstream(file) << text;
  std::string found;
  try {
    load_profile(file);
  } catch (const InputError& error) {
    found = error.what();
  }
  std::filesystem::remove(file);
  for (std::size_t place = found.find(file.string()); place != std::string::npos; place = found.find(file.string())) {
    found.replace(place, file.string().size(), "P");
  }
  return found;
}

}  // namespace

TEST_CASE("the shipped profiles load, sorted by id, and include the required GPUs") {
  std::vector<std::string> ids;
  for (const HardwareProfile& profile : list_profiles(hardware)) ids.push_back(profile.id);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  const std::vector<std::string> promised{"a10",       "a100_pcie_40", "a100_pcie_80", "a100_sxm_40", "a100_sxm_80",
                                          "b200_sxm",  "b300_sxm",     "gb200",        "gh200_144",   "gh200_96",
                                          "h100_pcie", "h100_sxm",     "h20",          "h200_sxm",    "l20",
                                          "l4",        "l40s",         "mi300x",       "mi325x",      "mi355x",
                                          "rtx3090",   "rtx4090",      "rtx5090",      "rtxpro6000",  "v100_sxm2"};
  CHECK(ids == promised);
}

TEST_CASE("listing a folder reports the findings of every broken profile in it") {
  const auto folder = std::filesystem::temp_directory_path() / ("tilescope_profiles_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "a.yaml") << "[\n";
  std::ofstream(folder / "b.yaml") << "";
  std::string found;
  try {
    list_profiles(folder);
  } catch (const InputError& error) {
    found = error.what();
  }
  std::filesystem::remove_all(folder);
  CHECK(found.find("a.yaml:") != std::string::npos);
  CHECK(found.find("b.yaml: error: is empty; expected a YAML document") != std::string::npos);
}

TEST_CASE("all shipped profiles pass their check") {
  for (const HardwareProfile& profile : list_profiles(hardware)) {
    const std::vector<CheckFinding> findings = check_profile(profile);
    CHECK(findings.size() >= 9);
    for (const CheckFinding& finding : findings) {
      CHECK_MESSAGE(finding.ok, finding.profile << ": " << finding.rule << ": " << finding.message);
    }
  }
}

TEST_CASE("the H200 profile is read in base units with its sources") {
  const HardwareProfile h200 = find_profile("h200_sxm", hardware);
  CHECK(h200.chip == "GH100");
  CHECK(h200.units.value == 132);
  CHECK(h200.units.source == "M");
  CHECK(h200.boost_hz->value == 1.98e9);
  CHECK(h200.tensor_hz->value == 1.83e9);
  CHECK(h200.tensor_flop_per_cycle.at(Format::fp8_e4m3).value == 8192);
  CHECK(h200.instruction_flop_per_cycle.at("mma.sync").at(Format::fp16).value == doctest::Approx(4 * 4096 / 6.0));
  CHECK(h200.fp32_fma_per_cycle->value == 128);
  CHECK(h200.exp2_per_cycle->value == 16);
  CHECK(h200.datasheet_fp32_flop_per_second->value == 67e12);
  CHECK_FALSE(h200.datasheet_flop_per_second.contains(Format::fp32));
  CHECK(h200.registers_per_unit->value == 65536);
  CHECK(h200.sector_bytes->value == 32);
  std::vector<std::string> names;
  for (const MemoryLevel& level : h200.levels) names.push_back(level.name());
  CHECK(names == std::vector<std::string>{"hbm", "l2", "smem", "register"});
  CHECK(h200.level(LevelId::hbm)->bandwidth_bytes_per_second->value == 4.8e12);
  CHECK(h200.level(LevelId::hbm)->counters.read->metric == "dram__bytes_read.sum");
  CHECK(h200.level(LevelId::l2)->capacity_bytes->value == 60 * 1024 * 1024);
  CHECK(h200.level(LevelId::smem)->capacity_per_block_bytes->value == 232448);
  CHECK(h200.level(LevelId::tmem) == nullptr);
  CHECK(h200.work_counters.at("xu").scale == 32);
  CHECK(h200.work_counters.at("tensor_flop.fp16").metric == "sm__ops_path_tensor_src_fp16.sum");
}

TEST_CASE("a value that a profile does not state is absent") {
  CHECK_FALSE(find_profile("b200_sxm", hardware).level(LevelId::l2)->measured_bandwidth_bytes_per_second);
  CHECK_FALSE(find_profile("mi300x", hardware).max_blocks_per_unit);
  CHECK_FALSE(find_profile("v100_sxm2", hardware).tensor_flop_per_cycle.contains(Format::bf16));
  CHECK_FALSE(find_profile("a10", hardware).launch_seconds);
}

TEST_CASE("a GPU is found by id in any case, by its unique first part, and by path") {
  CHECK(find_profile("H200_SXM", hardware).id == "h200_sxm");
  CHECK(find_profile("h200", hardware).id == "h200_sxm");
  CHECK(find_profile("h20", hardware).id == "h20");
  CHECK(find_profile((hardware / "l4.yaml").string(), hardware).id == "l4");
}

TEST_CASE("GPUs of one chip are told apart by the name that the driver reports") {
  const auto named = [](const std::string& device) {
    std::vector<HardwareProfile> profiles = list_profiles(hardware);
    keep_best_named(profiles, device);
    std::vector<std::string> ids;
    for (const HardwareProfile& profile : profiles) ids.push_back(profile.id);
    return join(ids, " ");
  };
  CHECK(named("NVIDIA A100-SXM4-40GB") == "a100_sxm_40");
  CHECK(named("NVIDIA A100-PCIE-40GB") == "a100_pcie_40");
  CHECK(named("NVIDIA A100 80GB PCIe") == "a100_pcie_80");
  CHECK(named("NVIDIA H200") == "h200_sxm");
  CHECK(named("NVIDIA GH200 480GB") == "gh200_144 gh200_96");
  CHECK(named("NVIDIA H20") == "h20");
}

TEST_CASE("a GPU that is not found gets a suggestion") {
  CHECK(message_of_find("h201") == "error: hardware: unknown GPU 'h201'; did you mean 'h20'?");
  CHECK(message_of_find("h200_sxn") == "error: hardware: unknown GPU 'h200_sxn'; did you mean 'h200_sxm'?");
  CHECK(message_of_find("rtx_4090") == "error: hardware: unknown GPU 'rtx_4090'; did you mean 'rtx4090'?");
  CHECK(message_of_find("h100") == "error: hardware: 'h100' names several GPUs: h100_pcie, h100_sxm; give one of them");
  CHECK(message_of_find("gaudi_three_of_intel")
            .starts_with("error: hardware: unknown GPU 'gaudi_three_of_intel'; known: a10, a100_pcie_40, "));
  CHECK(message_of_find("none/h200.yaml") == "none/h200.yaml: error: no such file; check the path");
  CHECK_THROWS_WITH_AS(find_profile("a10", "no/such/folder"),
                       "error: hardware: the profile folder no/such/folder cannot be read: No such file or directory",
                       InputError);
}

TEST_CASE("an error in a profile is reported with its place and with what was expected") {
  const std::vector<std::array<std::string, 3>> rows{
      {"tilescope/hardware/1", "tilescope/hardware/2",
       "P:3:9: error: schema: expected 'tilescope/hardware/1', found 'tilescope/hardware/2'"},
      {"id: h200_sxm", "id: H200 SXM",
       "P:4:5: error: id: expected lower-case letters, digits and '_', found 'H200 SXM'"},
      {"vendor: NVIDIA", "vendor: Nvidia",
       "P:6:9: error: vendor: expected one of NVIDIA, AMD, found 'Nvidia'; did you mean 'NVIDIA'?"},
      {"vendor: NVIDIA", "vendor: AMD", "P:9:7: error: chip: only an NVIDIA GPU has a CUPTI chip; remove this key"},
      {"chip: GH100", "chip: gh100", "P:9:7: error: chip: expected a CUPTI chip name such as GH100, found 'gh100'"},
      {"\"9.0\"", "sm_90",
       "P:8:21: error: compute_capability: expected a compute capability such as \"9.0\", found 'sm_90'"},
      {"unit_name: SM", "unit_name: core", "P:23:14: error: compute.unit_name: expected one of SM, CU, found 'core'"},
      {"{value: 132, source: M}", "132", "P:24:10: error: compute.units: expected a map, found '132'"},
      {"{value: 1980 MHz", "{value: 1980 Mhz",
       "P:25:24: error: compute.boost_clock.value: expected a clock frequency as a positive number and a unit (Hz, "
       "kHz, "
       "MHz, GHz), found '1980 Mhz' with an unknown unit; did you mean 'MHz'?"},
      {"{value: 1830 MHz", "{value: 1830 GB/s",
       "P:26:25: error: compute.tensor_clock.value: expected a clock frequency as a positive number and a unit (Hz, "
       "kHz, MHz, GHz), found '1830 GB/s' with an unknown unit"},
      {"    fp16: {value: 4096", "    half: {value: 4096",
       "P:30:11: error: compute.tensor.half: unknown number format; known: " + join(dtype_names(), ", ")},
      {"    fp8_e4m3: {value: 8192", "    fp8: {value: 8192",
       "P:33:10: error: compute.tensor.fp8: unknown number format; did you mean 'fp8_e4m3'?"},
      {"source: XLA}", "source: XLB}",
       "P:27:39: error: compute.fp32.source: is not declared under 'sources'; did you mean 'XLA'?"},
      {"source: XLA}", "src: XLA}",
       "P:27:3: error: compute.fp32.source: is missing; add this key\n"
       "P:27:31: error: compute.fp32.src: unknown key; known: value, source, note"},
      {"  xu: {", "  exp: {", "counters.exp: unknown counter"},
      {"scale: 32 OP", "scale: 32",
       "counters.xu.scale: expected what one count stands for, such as '1 OP', found '32'"},
      {"levels:\n  hbm:", "levels:\n  dram:", "levels.hbm: is missing; add this key"},
      {"  register:\n    capacity: {value: 256 KiB", "  register:\n    capacity: {value: 256 kb",
       "expected an amount of memory as a positive number and a unit (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB), found "
       "'256 kb' with an unknown unit; did you mean 'KB'?"},
  };
  for (const auto& [from, to, expected] : rows) {
    CAPTURE(to);
    const std::string found = findings_with(from, to);
    if (expected.starts_with("P:")) CHECK(found == expected);
    else CHECK_MESSAGE(found.find(expected) != std::string::npos, found);
  }
}

}  // namespace profile_test
