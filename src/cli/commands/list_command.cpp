// list: the names that options take, and the columns of every table.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/why_not.h"
#include "cli/output/code/code_columns.h"
#include "cli/output/hardware_tables.h"
#include "cli/output/launches/capture_columns.h"
#include "cli/output/launches/check_columns.h"
#include "cli/output/launches/import_columns.h"
#include "cli/output/launches/launch_columns.h"
#include "cli/output/lowering_table.h"
#include "compare/comparison_columns.h"
#include "network/model.h"
#include "predict/explain/row_columns.h"
#include "predict/point/plan.h"
#include "request/sensitivity/sensitivity.h"
#include "request/workload_file.h"
#include "search/search_columns.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

std::string dtype_names(const std::vector<Dtype>& dtypes) {
  std::vector<std::string> names;
  for (const Dtype& dtype : dtypes) names.push_back(to_string(dtype));
  return names.empty() ? "any" : join(names, " ");
}

std::string head_dims(const std::vector<std::int64_t>& dims) {
  std::vector<std::string> names;
  for (const std::int64_t dim : dims) names.push_back(std::to_string(dim));
  return names.empty() ? "any" : join(names, " ");
}

Table kernels_table() {
  Table table{.title = "", .columns = {"kernel", "schedule", "dtypes", "head_dims", "masks", "summary"}, .rows = {}};
  for (const auto& [name, file] : shipped_kernels(data_directory() / "kernels")) {
    const KernelDescriptor kernel = load_descriptor(file, data_directory() / "models");
    table.rows.push_back({name, kernel.schedule_name, dtype_names(kernel.dtypes), head_dims(kernel.head_dims),
                          join(to_strings(kernel.masks), " "), kernel.summary});
  }
  return table;
}

Table schedules_table() {
  const fs::path models = data_directory() / "models";
  Table table{.title = "", .columns = {"schedule", "diagram", "pass", "kernels", "tiles", "summary"}, .rows = {}};
  for (const std::string& name : shipped_names(models / "schedules")) {
    const Schedule schedule = find_schedule(name, models);
    std::vector<std::string> tiles;
    for (const Parameter& parameter : schedule.parameters) tiles.push_back(parameter.name);
    table.rows.push_back({name, schedule.diagram.name, to_string(pass_of(schedule.diagram)), schedule.islands.size(),
                          join(tiles, " "), schedule.summary});
  }
  return table;
}

Table diagrams_table() {
  const fs::path models = data_directory() / "models";
  Table table{.title = "", .columns = {"diagram", "operators", "axes", "summary"}, .rows = {}};
  for (const std::string& name : shipped_names(models / "diagrams")) {
    const Diagram diagram = find_diagram(name, models);
    table.rows.push_back({name, diagram.operators.size(), diagram.axes.size(), diagram.summary});
  }
  return table;
}

Table workloads_table() {
  const fs::path models = data_directory() / "models";
  Table table{.title = "",
              .columns = {"workload", "batch", "heads_q", "heads_kv", "q_len", "kv_len", "d_qk", "d_v"},
              .rows = {}};
  for (const std::string& name : shipped_names(models / "workloads")) {
    const Workload w = find_workload(name, models);
    table.rows.push_back({name, w.batch, w.heads_q, w.heads_kv, w.q_len, w.kv_len, w.d_qk, w.d_v});
  }
  return table;
}

Table gpus_table() { return hardware_list_table(data_directory() / "hardware"); }

// Every column of the tables that commands print from column records; docs/columns.md is this table.
Table columns_table() {
  Table table{.title = "", .columns = {"table", "column", "unit", "from", "meaning", "printed by"}, .rows = {}};
  std::vector<ColumnList> lists = prediction_column_lists();
  lists.push_back(why_not_column_list());
  lists.push_back(lowering_column_list());
  lists.push_back(import_column_list());
  lists.push_back(launch_column_list());
  lists.push_back(check_column_list());
  lists.push_back(capture_column_list());
  lists.push_back(model_column_list());
  lists.push_back(sensitivity_column_list());
  for (auto* more : {code_column_lists, search_column_lists, comparison_column_lists, hardware_column_lists})
    for (ColumnList& list : more()) lists.push_back(std::move(list));
  for (const ColumnList& list : lists)
    for (const ColumnInfo& column : list.columns)
      table.rows.push_back(
          {list.name, column.key, column.unit, description(column.origin), column.meaning, list.printed});
  return table;
}

struct Topic {
  const char* name;
  Table (*table)();
};
constexpr Topic topics[] = {{"kernels", kernels_table},     {"schedules", schedules_table},
                            {"workloads", workloads_table}, {"diagrams", diagrams_table},
                            {"gpus", gpus_table},           {"columns", columns_table}};

std::vector<std::string> topic_names() {
  std::vector<std::string> names;
  for (const Topic& topic : topics) names.emplace_back(topic.name);
  return names;
}

ExitStatus list(const Arguments& arguments) {
  const std::string wanted = arguments.positional().empty() ? "" : arguments.positional().front();
  for (const Topic& topic : topics) {
    if (wanted != topic.name) continue;
    deliver(arguments, render(topic.table(), style_of(arguments)));
    return ExitStatus::done;
  }
  refuse("list", fmt::format("expected {}, found '{}'{}", join(topic_names(), ", "), wanted,
                             nearest(wanted, topic_names()) ? did_you_mean(wanted, topic_names()) : ""));
}

}  // namespace

Command list_command() {
  return {
      .name = "list",
      .summary = "list the kernels, schedules, workloads, diagrams and GPUs, or the columns of all tables",
      .usage = "kernels|schedules|workloads|diagrams|gpus|columns",
      .examples = {"tilescope list kernels", "tilescope list gpus --format json", "tilescope list columns --format md"},
      .notes = "",
      .options = output_options,
      .run = list,
      .most_positional = 1,
      .first_words = topic_names()};
}

}  // namespace tilescope::cli
