#include "report/charts/tornado.h"

#include <doctest/doctest.h>

#include <regex>
#include <string>

namespace tornado_test {

using namespace tilescope::report;

TEST_CASE("bars of a tornado are as long as their changes, and a change that cannot run reaches the edge") {
  const std::string svg = tornado_svg({.title = "a < b",
                                       .subtitle = "s",
                                       .down_name = "-20 %",
                                       .up_name = "+20 %",
                                       .bars = {{"one", "", 0.2, -0.1}, {"two", "why & how", std::nullopt, 0.05}}});
  CHECK(svg.find("a &lt; b") != std::string::npos);
  CHECK(svg.find("why &amp; how") != std::string::npos);
  CHECK(svg.find("cannot run") != std::string::npos);
  const std::regex bar("<rect class=\"([du])\" x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"([0-9.]+)\" height=\"10");
  std::vector<double> left, width;
  for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at)
    left.push_back(std::stod((*at)[2])), width.push_back(std::stod((*at)[3]));
  REQUIRE(width.size() == 4);
  CHECK(width[0] == doctest::Approx(2 * width[1]));  // +20 % and -10 %
  CHECK(width[0] == doctest::Approx(4 * width[3]));  // +5 %
  CHECK(width[2] == doctest::Approx(width[0]));      // the axis ends at 20 %
  CHECK(left[1] + width[1] == doctest::Approx(left[0]));
}

}  // namespace tornado_test
