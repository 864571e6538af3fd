#include "base/units.h"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

namespace units_test {

using namespace tilescope;

TEST_CASE("quantities with wrong units do not compile, and a rate times a time is an amount") {
  static_assert(std::is_same_v<decltype(BytesPerSecond{} * Seconds{}), Bytes>);
  static_assert(std::is_same_v<decltype(Flop{} / Seconds{}), FlopPerSecond>);
  static_assert(std::is_same_v<decltype(FlopPerCycle{} * Hertz{}), FlopPerSecond>);
  static_assert(!std::is_convertible_v<Bytes, Flop>);
  CHECK((BytesPerSecond{4.8e12} * Seconds{2}).value == 9.6e12);
  CHECK((Bytes{3} + Bytes{4} - Bytes{1}).value == 6);
  CHECK(Bytes{1} < Bytes{2});
}

TEST_CASE("a plain decimal is parsed completely, and any other text is refused") {
  CHECK(parse_decimal("0") == 0);
  CHECK(parse_decimal("-1.5e-3") == -0.0015);
  CHECK(parse_decimal("1980") == 1980);
  CHECK(parse_decimal("2E+2") == 200);
  for (const std::string text : {"",      "-",   "+1",  "010",  "-010",  ".5", "1.", "1.e3", "1e",  "1e+",   "0x10",
                                 "1_000", "nan", "inf", "-inf", "1e999", " 1", "1 ", "1,5",  "--1", "1e3.5", "1..2"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decimal(text).has_value());
  }
}

TEST_CASE("quantities are converted to base units: KB is 1000 bytes and KiB is 1024") {
  CHECK(parse_quantity("4800 GB/s", Dimension::bytes_per_second).value == 4.8e12);
  CHECK(parse_quantity("1 TiB/s", Dimension::bytes_per_second).value == 1099511627776.0);
  CHECK(parse_quantity("228 KiB", Dimension::bytes).value == 233472);
  CHECK(parse_quantity("228 KB", Dimension::bytes).value == 228000);
  CHECK(parse_quantity("126.5 MiB", Dimension::bytes).value == 132644864);
  CHECK(parse_quantity("128 B/clk", Dimension::bytes_per_cycle).value == 128);
  CHECK(parse_quantity("989.4 TFLOP/s", Dimension::flop_per_second).value == doctest::Approx(989.4e12));
  CHECK(parse_quantity("2 POP/s", Dimension::flop_per_second).value == 2e15);
  CHECK(parse_quantity("4096 FLOP/clk", Dimension::flop_per_cycle).value == 4096);
  CHECK(parse_quantity("1980 MHz", Dimension::hertz).value == 1.98e9);
  CHECK(parse_quantity("700 W", Dimension::watts).value == 700);
  CHECK(parse_quantity("2.5 us", Dimension::seconds).value == doctest::Approx(2.5e-6));
  CHECK(parse_quantity("6.5 clk", Dimension::cycles).value == 6.5);
  CHECK(parse_quantity("0.4 pJ", Dimension::joules).value == doctest::Approx(0.4e-12));
  CHECK(parse_quantity("132", Dimension::count).value == 132);
  CHECK(parse_quantity("132 1", Dimension::count).value == 132);
  CHECK(parse_quantity("228KiB", Dimension::bytes).value == 233472);
  CHECK(parse_quantity("  7   B ", Dimension::bytes).value == 7);
}

TEST_CASE("the error for a refused quantity states what was expected and what was found") {
  const auto problem = [](const std::string& text) {
    const ParsedQuantity parsed = parse_quantity(text, Dimension::hertz);
    CHECK_FALSE(parsed.value.has_value());
    const std::string expectation = "expected a clock frequency as a positive number and a unit (Hz, kHz, MHz, GHz), ";
    REQUIRE(parsed.problem.starts_with(expectation));
    return parsed.problem.substr(expectation.size());
  };
  CHECK(problem("") == "found ''");
  CHECK(problem("fast") == "found 'fast'");
  CHECK(problem("MHz") == "found 'MHz'");
  CHECK(problem("1980") == "found '1980' without a unit");
  CHECK(problem("1980 mhz") == "found '1980 mhz' with an unknown unit; did you mean 'MHz'?");
  CHECK(problem("1980 GB/s") == "found '1980 GB/s' with an unknown unit");
  CHECK(problem("-5 MHz") == "found '-5 MHz', which is not positive");
  CHECK(problem("0 MHz") == "found '0 MHz', which is not positive");
  CHECK(problem("1e-400 MHz") == "found '1e-400 MHz'");
  CHECK(problem("5e-324 MHz") == "found '5e-324 MHz', which is smaller than any machine has");
  CHECK(problem("1e-9 MHz") == "found '1e-9 MHz', which is smaller than any machine has");
  CHECK(parse_quantity("1 Hz", Dimension::hertz).value == 1);
  CHECK(problem("1e99 MHz") == "found '1e99 MHz', which is larger than any machine has");
  CHECK(problem("1e999 MHz") == "found '1e999 MHz'");
  CHECK(problem("nan MHz") == "found 'nan MHz'");
  CHECK(problem("010 MHz") == "found '010 MHz'");
  CHECK(problem("5 5 MHz") == "found '5 5 MHz' with an unknown unit; did you mean 'MHz'?");
  CHECK(problem(std::string(500, '9')).size() < 100);
}

}  // namespace units_test
