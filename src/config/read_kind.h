// Kinds in YAML files: one of the names of a kind's table.
#pragma once

#include "base/contains.h"
#include "base/enum_table.h"
#include "config/reader.h"

namespace tilescope {

// The kind that a scalar names. nullopt after a finding with the known names and did-you-mean.
template <TabledEnum Enum>
std::optional<Enum> find_kind(const Node& node, const std::vector<std::string>& names = kind_names<Enum>()) {
  const std::string text = node.one_of(names);
  return node.is_scalar() && contains(names, node.text()) ? parse_kind<Enum>(text) : std::nullopt;
}

// The same; the first kind after a finding.
template <TabledEnum Enum>
Enum read_kind(const Node& node, const std::vector<std::string>& names = kind_names<Enum>()) {
  return find_kind<Enum>(node, names).value_or(Enum{});
}

}  // namespace tilescope
