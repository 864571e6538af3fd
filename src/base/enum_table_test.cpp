#include "base/enum_table.h"

#include <doctest/doctest.h>

#include <array>

namespace enum_table_test {
namespace {
enum class Colour { red, green, blue };
struct ColourRow {
  Colour value;
  std::string_view name;
  bool warm;
};
}  // namespace
}  // namespace enum_table_test

template <>
struct tilescope::EnumTable<enum_table_test::Colour> {
  using Colour = enum_table_test::Colour;
  using ColourRow = enum_table_test::ColourRow;
  static constexpr std::array rows{ColourRow{Colour::red, "red", true}, ColourRow{Colour::green, "dark-green", false},
                                   ColourRow{Colour::blue, "blue", false}};
};

namespace enum_table_test {

using namespace tilescope;

TEST_CASE("an enumerator is printed and parsed with the name in its table, and other texts are refused") {
  CHECK(to_string(Colour::green) == "dark-green");
  for (const auto& row : EnumTable<Colour>::rows) CHECK(parse_kind<Colour>(to_string(row.value)) == row.value);
  CHECK_FALSE(parse_kind<Colour>("green"));
  CHECK_FALSE(parse_kind<Colour>(""));
  CHECK(properties(Colour::red).warm);
  CHECK_FALSE(properties(Colour::blue).warm);
}

TEST_CASE("names are listed in the order of the table, for all enumerators or for those with a property") {
  CHECK(kind_names<Colour>() == std::vector<std::string>{"red", "dark-green", "blue"});
  CHECK(kind_names<Colour>([](const auto& row) { return !row.warm; }) ==
        std::vector<std::string>{"dark-green", "blue"});
  CHECK(to_strings(std::vector{Colour::blue, Colour::red}) == std::vector<std::string>{"blue", "red"});
}

}  // namespace enum_table_test
