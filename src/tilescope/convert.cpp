#include "tilescope/convert.h"

namespace tilescope::api {

tilescope::Options checked(const Options& given, const std::vector<OptionSpec>& specs) {
  return checked_options(given, specs);
}

Cell cell_of(const Json& value) {
  if (value.is_null() || value.is_discarded()) return std::monostate{};
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

Table table_of(const Json& objects) {
  Table table;
  for (const Json& object : objects) {
    if (table.columns.empty())
      for (const auto& [key, value] : object.items()) table.columns.push_back(key);
    auto& row = table.rows.emplace_back();
    for (const std::string& key : table.columns) row.push_back(object.contains(key) ? cell_of(object[key]) : Cell{});
  }
  return table;
}

}  // namespace tilescope::api
