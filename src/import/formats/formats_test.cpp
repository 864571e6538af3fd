// Numbers, units and rows as tools print them.
#include <doctest/doctest.h>

#include "base/data_directory.h"
#include "import/formats/csv.h"
#include "import/formats/metric_names.h"
#include "import/formats/ncu_values.h"
#include "import/formats/nsys_sqlite.h"

namespace formats_formats_test {

using namespace tilescope;
using namespace tilescope::imported;

namespace {

double value_of(const char* number, const char* unit) {
  std::string problem;
  const auto value = parse_ncu_value(number, unit, problem);
  REQUIRE_MESSAGE(value, number << " " << unit << ": " << problem);
  return value->value;
}

std::string problem_with(const char* number, const char* unit) {
  std::string problem;
  CHECK_FALSE(parse_ncu_value(number, unit, problem));
  return problem;
}

}  // namespace

TEST_CASE("units of ncu are converted by moving the decimal point") {
  CHECK(value_of("16,805,632", "byte") == 16805632);
  CHECK(value_of("12.34", "Kbyte") == 12340);
  CHECK(value_of("1.1", "Mbyte") == 1100000);  // 1.1 * 1e6 is 1100000.0000000002
  CHECK(value_of("50.331648", "Mbyte") == 50331648);
  CHECK(value_of("2.5", "Gbyte") == 2500000000);
  CHECK(value_of("101,728", "ns") == 101728e-9);
  CHECK(value_of("101.73", "us") == 101.73e-6);
  CHECK(value_of("0.29", "usecond") == 0.29e-6);
  CHECK(value_of("7", "nsecond") == 7e-9);
  CHECK(value_of("1.5", "msecond") == 1.5e-3);
  CHECK(value_of("3", "s") == 3);
  CHECK(value_of("1.43", "Ghz") == 1.43e9);
  CHECK(value_of("1.43", "cycle/nsecond") == 1.43e9);
  CHECK(value_of("31.47", "%") == 31.47);
  CHECK(value_of("65.54", "Kbyte/block") == 65540);
  CHECK(value_of("168", "register/thread") == 168);
  CHECK(value_of("12 (4; 8)", "inst") == 12);
  CHECK(value_of("0", "") == 0);
}

TEST_CASE("a number printed rounded says to which digit") {
  std::string problem;
  CHECK(parse_ncu_value("12.34", "Mbyte", problem)->rounding == 10000);
  CHECK(parse_ncu_value("12", "Kbyte", problem)->rounding == 1000);
  CHECK(parse_ncu_value("52.768768", "Mbyte", problem)->rounding == 0);
  CHECK(parse_ncu_value("12,340,000", "byte", problem)->rounding == 0);
}

TEST_CASE("numbers and units that ncu does not print are refused, never guessed") {
  CHECK(problem_with("1.234,5", "byte").find("LC_ALL=C") != std::string::npos);
  CHECK(problem_with("12,34", "byte").find("expected a number") != std::string::npos);
  CHECK(problem_with("1234,567", "byte").find("expected a number") != std::string::npos);
  CHECK(problem_with(",123", "byte").find("expected a number") != std::string::npos);
  CHECK(problem_with("12", "Kibyte").find("unit 'Kibyte' is unknown") != std::string::npos);
  CHECK(problem_with("12", "byte/fortnight").find("is unknown") != std::string::npos);
  CHECK(problem_with("1e400", "byte").find("expected a number") != std::string::npos);
  CHECK(problem_with("9e307", "Gbyte").find("too large") != std::string::npos);
  CHECK(problem_with("0x10", "byte").find("expected a number") != std::string::npos);
  CHECK(is_absent("n/a"));
  CHECK(is_absent(" (!) nan "));
  CHECK_FALSE(is_absent("0"));
}

TEST_CASE("rows of CSV keep commas, quotes and line feeds inside quotes, and know their line") {
  CsvReader csv("a,\"b, \"\"c\"\"\",\"d\ne\"\r\n\r\n1,,\n\"open");
  CHECK(csv.next() == std::vector<std::string>{"a", "b, \"c\"", "d\ne"});
  CHECK(csv.next() == std::vector<std::string>{"1", "", ""});
  CHECK(csv.line() == 4);
  CHECK_FALSE(csv.unclosed());
  CHECK(csv.next() == std::vector<std::string>{"open"});
  CHECK(csv.unclosed());
  CHECK_FALSE(csv.next());
}

TEST_CASE("a metric is a fact, a counter, known and not kept, or unknown with the nearest name") {
  const auto file = data_directory() / "validate" / "import" / "ncu_names.yaml";
  const MetricNames names = load_metric_names(file, list_profiles(data_directory() / "hardware"), {"my__*"});
  CHECK(names.use_of("Duration") == MetricUse::fact);
  CHECK(names.use_of("gpu__time_duration.sum") == MetricUse::fact);
  CHECK(names.use_of("dram__bytes_read.sum") == MetricUse::counter);
  CHECK(names.use_of("Total SM Elapsed Cycles") == MetricUse::counter);
  CHECK(names.use_of("dram__bytes_read.sum.per_second") == MetricUse::not_kept);
  CHECK(names.use_of("sm__cycles_elapsed.max") == MetricUse::counter);
  CHECK(names.use_of("sm__cycles_active.max") == MetricUse::not_kept);
  CHECK(names.use_of("launch__waves_per_multiprocessor") == MetricUse::not_kept);
  CHECK(names.use_of("my__metric.sum") == MetricUse::not_kept);
  CHECK(names.use_of("dram__byte_read.sum") == MetricUse::unknown);
  CHECK(names.use_of("dram__bytes_read.some") == MetricUse::unknown);
  CHECK(names.use_of("dram__read_bytes.sum") == MetricUse::unknown);
  CHECK(names.use_of("lts__t_sectors_srcunit_tex_aperture_device_op_read.sum") == MetricUse::not_kept);
  CHECK(names.use_of("lts__t_sectors_srcunit_text.sum") == MetricUse::unknown);
  CHECK(names.use_of("TPC.TriageCompute.sm__cycles_active.avg") == MetricUse::not_kept);
  CHECK(names.use_of("sm__.sum") == MetricUse::unknown);
  CHECK(names.hint("dram__byte_read.sum") == "; did you mean 'dram__bytes_read.sum'?");
  CHECK(names.hint("Durations") == "; did you mean 'Duration'?");
  CHECK(names.hint("dram__bytes_read.some") == "; expected .sum after it");
}

TEST_CASE("a range of PyTorch's NVTX is an operator with shapes") {
  const ToolOperator call =
      operator_of_range("aten::mm, seq = 4, op_id = 9, sizes = [[2, 16, 2048, 128], [], [3]], input_op_ids = [(1,2)]");
  CHECK(call.name == "aten::mm");
  CHECK(call.dims == std::vector<std::vector<std::int64_t>>{{2, 16, 2048, 128}, {}, {3}});
  CHECK(operator_of_range("step 3").dims.empty());
  CHECK(operator_of_range("a, sizes = [[[[9999999999999999999999").name == "a");
}

}  // namespace formats_formats_test
