// Kinds: an enum class whose enumerators stand in one table with their texts and properties. Parsing, printing and
// did-you-mean of the kind follow from the table. A kind specialises EnumTable beside its enum:
//
//   enum class Colour { red, green };
//   struct ColourRow { Colour value; std::string_view name; bool warm; };
//   template <> struct EnumTable<Colour> {
//     static constexpr std::array rows{ColourRow{Colour::red, "red", true}, ColourRow{Colour::green, "green", false}};
//   };
//
// A row without further properties is a NamedKind. Rows stand in the order of the enumerators; this is checked at
// compile time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

template <class Enum>
struct EnumTable {};

// The row of a kind that has a name and no other property.
template <class Enum>
struct NamedKind {
  Enum value;
  std::string_view name;
};
template <class Enum>
NamedKind(Enum, std::string_view) -> NamedKind<Enum>;

template <class Enum>
concept TabledEnum = requires {
  EnumTable<Enum>::rows;
};

template <TabledEnum Enum>
consteval bool in_order() {
  std::size_t i = 0;
  for (const auto& row : EnumTable<Enum>::rows)
    if (static_cast<std::size_t>(row.value) != i++) return false;
  return true;
}

template <TabledEnum Enum>
inline constexpr std::size_t kind_count = EnumTable<Enum>::rows.size();

// The row of a kind: its name and properties.
template <TabledEnum Enum>
constexpr const auto& properties(Enum value) {
  static_assert(in_order<Enum>());
  return EnumTable<Enum>::rows[static_cast<std::size_t>(value)];
}

template <TabledEnum Enum>
std::string to_string(Enum value) {
  return std::string(properties(value).name);
}

template <TabledEnum Enum>
std::optional<Enum> parse_kind(std::string_view text) {
  for (const auto& row : EnumTable<Enum>::rows)
    if (row.name == text) return row.value;
  return std::nullopt;
}

// Names of the kinds that `accepts` takes, in the table's order; of all kinds without it.
template <TabledEnum Enum, class Accepts>
std::vector<std::string> kind_names(Accepts accepts) {
  std::vector<std::string> names;
  for (const auto& row : EnumTable<Enum>::rows)
    if (accepts(row)) names.emplace_back(row.name);
  return names;
}
template <TabledEnum Enum>
std::vector<std::string> kind_names() {
  return kind_names<Enum>([](const auto&) { return true; });
}

template <TabledEnum Enum>
std::vector<std::string> to_strings(const std::vector<Enum>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.push_back(to_string(value));
  return names;
}

}  // namespace tilescope
