#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "request/compared.h"

namespace tilescope::cli {
namespace {

ExitStatus compare_points(const Arguments& arguments) {
  Table table{.title = "predicted", .columns = compared_keys(), .rows = {}};
  {
    Progress progress(arguments, "compare");
    table.rows = compared_rows(arguments, progress.callback());
  }
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json) deliver(arguments, compared_json(table.rows).dump(2) + "\n");
  else deliver(arguments, render(table, style));
  const auto fits = std::find(table.columns.begin(), table.columns.end(), "fits") - table.columns.begin();
  const bool any = std::any_of(table.rows.begin(), table.rows.end(),
                               [&](const auto& row) { return !row[static_cast<std::size_t>(fits)].is_null(); });
  return any ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> compare_options() { return point_options() + output_options(); }

}  // namespace

Command compare_command() {
  return {.name = "compare",
          .summary = "predict GPUs, dtypes and kernels side by side",
          .usage = "--hardware A,B,... --dtype X --dtype Y ... --q-len N ...",
          .examples = {"tilescope compare --hardware h100_sxm,h200_sxm,b200_sxm --dtype fp16 --dtype fp8 --dtype "
                       "fp16,kv=int8:g64:b2 --workload llama3-70b-decode"},
          .notes =
              "--hardware takes a comma-separated list; --dtype, --schedule and --kernel may be repeated. "
              "Exit status 1 when no row's kernel is launched for the sizes.",
          .options = compare_options,
          .run = compare_points};
}

}  // namespace tilescope::cli
