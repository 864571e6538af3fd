// model: attention of a whole language model, from its config.json.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "network/model.h"

namespace tilescope::cli {
namespace {

// What the configuration says, above the table.
std::string summary_of(const ModelQuestion& question) {
  const Network& network = question.network;
  std::string text =
      fmt::format("{} ({}): {} layers, {} values, {} of them used by a token", network.name, network.architecture,
                  network.layers, with_si(static_cast<double>(network.parameters()), ""),
                  with_si(static_cast<double>(network.active_parameters()), ""));
  if (network.context > 0) text += fmt::format(", at most {} tokens", with_thousands(network.context));
  const std::string format = question.weights ? to_string(*question.weights) : network.format;
  text += fmt::format(", {} in {}", network.only_experts && !question.weights ? "experts" : "weights", format);
  if (format != network.plain) text += fmt::format(", the rest in {}", network.plain);
  return text + "\n";
}

// Columns that hold a value in some row; of the others a table would show dashes alone.
Table table_of_rows(const std::vector<ModelRow>& rows) {
  Columns<ModelRow> used;
  for (const Column<ModelRow>& column : model_columns())
    if (std::any_of(rows.begin(), rows.end(), [&](const ModelRow& row) { return !column.value(row).is_null(); }))
      used.push_back(column);
  return table_of("predicted, one GPU", used, rows);
}

ExitStatus predict_model(const Arguments& arguments) {
  if (arguments.positional().size() != 1)
    refuse("model", "expected one configuration: a config.json, or a name in models/networks");
  const ModelQuestion question = read_model_question(arguments.positional().front(), arguments);
  std::vector<ModelRow> rows;
  {
    Progress progress(arguments, "model");
    rows = model_rows(question, progress.callback());
  }
  const Style style = style_of(arguments);
  switch (style.format) {
    case OutputFormat::json:
      deliver(arguments, model_json(question, rows).dump(2) + "\n");
      break;
    case OutputFormat::csv: {
      Table table{.title = "", .columns = {}, .rows = {}};
      for (const auto& column : model_columns()) table.columns.push_back(column.key);
      for (const ModelRow& row : rows) {
        auto& cells = table.rows.emplace_back();
        for (const auto& column : model_columns()) cells.push_back(column.value(row));
      }
      deliver(arguments, render(table, style));
      break;
    }
    default: {
      std::string text = summary_of(question);
      text += "\n" + render(table_of("attention", attention_group_columns(), question.network.attention), style);
      text += "\n" + render(table_of_rows(rows), style);
      for (const std::string& note : question.network.notes) text += "note: " + note + "\n";
      deliver(arguments, text);
    }
  }
  const bool any = std::any_of(rows.begin(), rows.end(), [](const ModelRow& row) { return row.reason.empty(); });
  return any ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> options_of_model() { return model_options() + output_options(); }

}  // namespace

Command model_command() {
  return {
      .name = "model",
      .summary = "predict the attention of a language model from its config.json: time, memory, what fits",
      .usage = "CONFIG.json --hardware A,B,... --phase decode --batch N --context 8k,32k",
      .examples = {"tilescope model llama-3-70b --hardware h100_sxm,h200_sxm --phase decode --batch 64 --context "
                   "32k --dtype fp16 --dtype fp16,kv=int8:g64:b2 --tp 8"},
      .notes =
          "CONFIG.json is a file as Hugging Face transformers writes it, or a name in models/networks. Every number "
          "is of one GPU. Time of communication between GPUs is left out. Decode absorbs the up-projections of "
          "latent attention; prefill expands them. Exit status 1 when nothing runs.",
      .options = options_of_model,
      .run = predict_model,
      .most_positional = 1,
      .first_value = Value::file};
}

}  // namespace tilescope::cli
