// sweep merge: puts the shards of a sweep together, once none is missing, doubled or of another question.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/sweep/sweep_rows.h"
#include "cli/input/options.h"

namespace tilescope::cli {
namespace {

// What differs from the first shard, in words; empty: nothing.
std::string difference(const ShardHead& first, const ShardHead& other) {
  if (other.version != first.version || other.revision != first.revision)
    return fmt::format("was written by tilescope {} ({}), the first one by {} ({})", other.version, other.revision,
                       first.version, first.revision);
  if (other.options != first.options)
    return fmt::format("answers other options: {}, the first one {}", other.options.dump(), first.options.dump());
  if (other.files != first.files)
    return fmt::format("read other files: {}, the first one {}", other.files.dump(), first.files.dump());
  if (other.shard.of != first.shard.of)
    return fmt::format("is one of {} shards, the first one of {}", other.shard.of, first.shard.of);
  ShardHead same = other;
  same.shard = first.shard;
  if (same.json() != first.json())
    return "has another first point: profiles, descriptors or the program were changed between the shards";
  return "";
}

std::string numbers_of(const std::vector<std::size_t>& numbers) {
  constexpr std::size_t most = 20;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(most, numbers.size()); ++i) shown.push_back(std::to_string(numbers[i]));
  return join(shown, ",") + (numbers.size() > most ? fmt::format(" and {} more", numbers.size() - most) : "");
}

// The shards by number. Throws InputError, with all findings, unless each is there once.
std::map<std::size_t, std::string> checked_shards(const std::vector<std::string>& files, ShardHead& first) {
  std::vector<Diagnostic> findings;
  std::map<std::size_t, std::string> shards;
  for (const std::string& file : files) {
    try {
      const ShardHead head = ShardReader(file).head();
      if (file == files.front()) first = head;
      if (const std::string other = difference(first, head); !other.empty()) {
        findings.push_back({.file = file, .message = other});
        continue;
      }
      const auto [same, added] = shards.emplace(head.shard.number, file);
      if (!added)
        findings.push_back({.file = file,
                            .message = fmt::format("is shard {} of {}, as {} is; leave out one of them",
                                                   head.shard.number, head.shard.of, same->second)});
    } catch (const InputError& error) {
      for (const Diagnostic& each : error.diagnostics()) findings.push_back(each);
    }
  }
  std::vector<std::size_t> missing;
  for (std::size_t number = 1; number <= first.shard.of && findings.empty(); ++number)
    if (!shards.contains(number)) missing.push_back(number);
  if (!missing.empty())
    findings.push_back({.path = "sweep merge",
                        .message = fmt::format("{} of {} shards are missing: {}; run the sweep with --shard N/{} for "
                                               "each of them",
                                               missing.size(), first.shard.of, numbers_of(missing), first.shard.of)});
  if (!findings.empty()) throw InputError(std::move(findings));
  return shards;
}

// Keeps lines as they are where the form allows.
Cells row_of(const std::string& file, const std::string& line, const ShardHead& head) {
  Json row = Json::parse(line, nullptr, false);
  if (head.objects && row.is_object()) return {std::move(row)};
  if (head.objects || !row.is_array() || row.size() != head.columns.size())
    throw InputError(Diagnostic{.file = file, .message = "was changed: a line is no row; run this shard again"});
  return row.get<Cells>();
}

}  // namespace

ExitStatus merge_shards(const Arguments& arguments) {
  for (const std::string& name : arguments.names())
    if (name != "output" && name != "format" && name != "quiet" && name != "color")
      refuse("--" + name, "is stated by the shards; sweep merge takes -o, --format and the shards alone");
  const auto output = arguments.text("output");
  std::vector<std::string> files(arguments.positional().begin() + 1, arguments.positional().end());
  if (files.empty() && output) files = shards_beside(*output);
  if (files.empty())
    refuse("sweep merge", output ? fmt::format("there is no file {}; name the shards",
                                               shard_name(*output, {1, 1}).substr(0, output->size() + 7) + "*")
                                 : "name the shards, or the file that they belong to with -o FILE");
  ShardHead head;
  const std::map<std::size_t, std::string> shards = checked_shards(files, head);
  const RowForm form = row_form(arguments);
  if (head.objects != (form == RowForm::json))
    refuse("--format", head.objects ? "the shards hold JSON objects: name a file that ends with .jsonl"
                                    : "the shards hold cells of a table: name a file that ends with .csv or .sqlite");
  const std::unique_ptr<RowSink> sink = sink_of(arguments, form, head.columns, head.indexed);
  bool feasible = false;
  RowBatch batch;
  for (const auto& [number, file] : shards) {
    ShardReader reader(file);
    for (std::string line; reader.next(line);) {
      Cells row = row_of(file, line, head);
      sink->add(row, batch);
      sink->write(batch);
    }
    feasible = feasible || reader.feasible();
  }
  sink->commit();
  return status_of_sweep(arguments, feasible);
}

}  // namespace tilescope::cli
