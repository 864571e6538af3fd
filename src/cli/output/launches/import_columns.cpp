#include "cli/output/launches/import_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace tilescope::cli {

std::vector<ImportedRow> imported_rows(const imported::ToolFile& file, const std::vector<imported::FoundRun>& runs) {
  std::map<std::tuple<std::string, std::string, std::string>, ImportedRow> rows;
  double all = 0;
  for (const imported::FoundRun& run : runs) {
    ImportedRow row;
    for (const std::size_t each : run.launches) {
      const imported::ToolLaunch& launch = file.launches[each];
      const std::string name = imported::short_name(launch.name);
      row.kernel += (row.kernel.empty() ? "" : " + ") + name;
      row.seconds += launch.seconds.value_or(0);
    }
    if (run.point) row.descriptor = run.point->kernel, row.point = point_id(*run.point);
    row.reason = run.reason, row.launches = run.launches.size();
    all += row.seconds;
    const auto [known, is_new] = rows.try_emplace({row.kernel, row.point, row.reason}, row);
    if (!is_new) known->second.launches += row.launches, known->second.seconds += row.seconds;
  }
  std::vector<ImportedRow> sorted;
  for (auto& [key, row] : rows) {
    row.share = all > 0 ? row.seconds / all : 0;
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ImportedRow& a, const ImportedRow& b) { return a.seconds > b.seconds; });
  return sorted;
}

const Columns<ImportedRow>& import_columns() {
  using R = ImportedRow;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  static const Columns<R> columns{
      {{"kernel", "kernel", "", "Names of the kernels of a run, without template arguments.", Origin::question},
       [](const R& r) { return r.kernel; }},
      {{"launches", "launches", "", "Launches of these kernels.", Origin::question},
       [](const R& r) { return r.launches; }},
      {{"seconds", "time", "s", "Time of these launches, as the tool measured it.", Origin::measured},
       [](const R& r) { return r.seconds; },
       [](const R& r) { return fmt::format("{:.2f} us", r.seconds * 1e6); }},
      {{"share", "share", "", "Part of the time of all launches in the file.", Origin::measured},
       [](const R& r) { return r.share; },
       [](const R& r) { return fmt::format("{:.1f} %", 100 * r.share); }},
      {{"descriptor", "recognised as", "", "Descriptor of the kernel; none: not recognised.", Origin::question},
       [text_or_null](const R& r) { return text_or_null(r.descriptor); }},
      {{"point", "point", "", "Point of the record.", Origin::question},
       [text_or_null](const R& r) { return text_or_null(r.point); }},
      {{"reason", "why not", "", "Why it is not recognised; none: its name and place do not look like attention.",
        Origin::question},
       [text_or_null](const R& r) { return text_or_null(r.reason); }},
  };
  return columns;
}

ColumnList import_column_list() { return listed("found", "import", import_columns()); }

}  // namespace tilescope::cli
