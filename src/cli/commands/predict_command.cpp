#include "base/error.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/output/prediction_text.h"
#include "predict/explain/notes.h"
#include "predict/explain/orders.h"

namespace tilescope::cli {
namespace {

Table orders_table(const Answer& a) {
  Table table{.title = "DRAM bytes by order of blocks (walk)",
              .columns = {"order (fastest first)", "kernel's own", "hbm_read_bytes", "hbm_write_bytes", "times_least"},
              .rows = {}};
  const std::vector<OrderedTraffic> orders = traffic_by_order(a.plan, a.hardware, a.point);
  const auto total = [](const OrderedTraffic& order) {
    return static_cast<double>(order.read_bytes + order.write_bytes);
  };
  for (const OrderedTraffic& order : orders)
    table.rows.push_back({order.order, order.own ? "yes" : "", order.read_bytes, order.write_bytes,
                          total(order) / total(orders.front())});
  return table;
}

Table flat_table(const Answer& a) {
  Table table;
  auto& row = table.rows.emplace_back();
  for (const PredictionColumn& column : columns_at(prediction_columns(a.plan), shown::csv))
    table.columns.push_back(column.key), row.push_back(cell(column, a.row()));
  return table;
}

ExitStatus predict_one(const Arguments& arguments) {
  const Answer a = answer(arguments, !arguments.has("orders"));
  const Style style = style_of(arguments);
  if (const std::string note = bandwidth_text(a.hardware); !note.empty() && !arguments.quiet())
    print_note("note: " + note);
  if (arguments.has("orders") && a.outside.empty()) {
    if (a.point.l2 == L2Model::closed) refuse("--orders", "needs the walk, found --l2 closed; leave it out");
    deliver(arguments, render(orders_table(a), style));
    return status_of(a.prediction);
  }
  if (style.format == OutputFormat::json) deliver(arguments, a.json().dump(2) + "\n");
  else if (style.format == OutputFormat::csv) deliver(arguments, render(flat_table(a), style));
  else deliver(arguments, prediction_text(a, style));
  return status_of(a.prediction);
}

std::vector<OptionSpec> predict_options() {
  return point_options() +
         std::vector<OptionSpec>{
             {"orders", "print instead the DRAM bytes of this kernel with other orders of its blocks", Value::flag}} +
         output_options();
}

}  // namespace

Command predict_command() {
  return {.name = "predict",
          .summary = "traffic at every level, work, footprint, time and bottleneck of one point",
          .usage = "--hardware ID [--kernel NAME | --schedule NAME] --q-len N ...",
          .examples = {"tilescope predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 "
                       "--mask causal",
                       "tilescope predict --hardware b200_sxm --schedule standard --workload gpt2-medium --format json",
                       "tilescope predict --hardware h200_sxm --pass backward --heads 16 --q-len 4k --head-dim 128",
                       "tilescope predict --hardware h200_sxm --schedule split-kv --splits 16 --workload "
                       "llama3-70b-decode",
                       "tilescope predict --hardware h200_sxm --diagram attention_paged --size pages=512 --q-len 1 "
                       "--kv-len 8k --heads 8"},
          .notes = "Without --tile a search chooses the best tile. Exit status 1 when the point cannot run.",
          .options = predict_options,
          .run = predict_one};
}

}  // namespace tilescope::cli
