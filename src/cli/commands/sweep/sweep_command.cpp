// sweep: predicts the cross product of axes. Rows are written as they come, so memory does not grow with the points.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/sweep/sweep_rows.h"
#include "cli/output/progress.h"
#include "cli/output/revision.h"
#include "compare/gate/source_file.h"

namespace tilescope::cli {
namespace {

constexpr std::size_t many_points = 10'000'000;

// "3/100"
std::optional<Shard> shard_of(const Arguments& arguments) {
  const auto text = arguments.text("shard");
  if (!text) return std::nullopt;
  const std::size_t slash = text->find('/');
  const auto number = parse_count(text->substr(0, slash));
  const auto of = slash == std::string::npos ? std::nullopt : parse_count(text->substr(slash + 1));
  if (!number || !of || *of < 1 || *of > static_cast<std::int64_t>(most_shards) || *number < 1 || *number > *of)
    refuse("--shard", fmt::format("expected NUMBER/OF from 1/1 to {0}/{0}, as in 3/100, found {1}", most_shards,
                                  shown_text(*text)));
  if (!arguments.has("output")) refuse("--shard", "needs -o FILE, the file that sweep merge will write");
  return Shard{static_cast<std::size_t>(*number), static_cast<std::size_t>(*of)};
}

// The options that decide the rows.
Json deciding_options(const Arguments& arguments) {
  static const std::set<std::string> others{"output", "format", "quiet", "color", "threads", "shard", "yes"};
  Json options = Json::object();
  for (const std::string& name : arguments.names())
    if (!others.contains(name)) options[name] = arguments.all(name);
  return options;
}

// The files that these options name, as in hardware=./a.yaml,./b.yaml or block-sparse:mask.yaml, with fingerprints.
Json files_of(const Json& options) {
  Json files = Json::object();
  for (const Json& values : options)
    for (const Json& value : values) {
      std::string text = value.get<std::string>();
      for (char& c : text)
        if (c == '=' || c == ':' || c == '[') c = ',';
      std::error_code ignored;
      for (const std::string& name : split(text, ','))
        if (std::filesystem::is_regular_file(name, ignored)) files[name] = fingerprint(name);
    }
  return files;
}

std::vector<std::string> axis_names(const Arguments& arguments) {
  std::vector<std::string> names;
  for (const std::string& text : arguments.all("axis")) {
    std::string name = text.substr(0, text.find('='));
    std::replace(name.begin(), name.end(), '-', '_');
    names.push_back(name);
  }
  return names;
}

// The row of the sweep's first point, and how long it takes.
struct FirstPoint {
  Cells row;
  double seconds = 0;
};
FirstPoint first_point(const SweepGrid& grid, const SweepRows& rows) {
  FirstPoint first;
  const auto begin = std::chrono::steady_clock::now();
  SweptPoint point;
  grid.predict_first(point);
  SharedCells shared;
  first.row = rows.row(point, shared);
  first.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return first;
}

std::string amount(double value, const char* unit) {
  static constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t i = 0;
  for (; value >= 1000 && i + 1 < std::size(prefixes); ++i) value /= 1000;
  return fmt::format("{:.3g} {}{}", value, prefixes[i], unit);
}

// Refuses, with numbers, what takes hours and disks unless that is wanted.
void check_bound(const Arguments& arguments, std::size_t points, const FirstPoint& first) {
  if (points <= many_points || arguments.has("yes")) return;
  const double bytes = static_cast<double>(csv_line(first.row).size()) * static_cast<double>(points);
  const double seconds = first.seconds * static_cast<double>(points) / static_cast<double>(threads_of(arguments));
  refuse("--axis",
         fmt::format("the axes have {} points, about {} and {:.1f} h by the first of them; write --yes to predict them "
                     "all, --random N for some, or cut them into parts with --shard",
                     with_thousands(static_cast<long long>(points)), amount(bytes, "B"), seconds / 3600));
}

ExitStatus sweep_points(const Arguments& arguments) {
  if (!arguments.positional().empty()) {
    const std::string& word = arguments.positional().front();
    if (word != "merge") refuse(one_line(word), "unexpected word; options start with --, see tilescope sweep --help");
    return merge_shards(arguments);
  }
  const RowForm form = row_form(arguments);
  const std::optional<Shard> shard = shard_of(arguments);
  const SweepGrid grid(arguments);
  SweepRows rows(arguments, grid, form == RowForm::json);
  const Places places = places_of(shard.value_or(Shard{}), grid.size());
  const FirstPoint first = first_point(grid, rows);
  if (!rows.objects()) rows.set_types(first.row);
  check_bound(arguments, places.size(), first);
  const std::vector<std::string> indexed = indexed_columns(axis_names(arguments), rows.described());
  std::unique_ptr<RowSink> sink;
  ShardSink* part = nullptr;
  if (shard) {
    if (form == RowForm::text || form == RowForm::md)
      refuse("--shard", "is of csv, json and SQLite; leave out --format text or md");
    const Json options = deciding_options(arguments);
    const ShardHead head{TILESCOPE_VERSION, build_revision(), options, files_of(options), first.row, rows.objects(),
                         rows.described(),  indexed,          *shard,  grid.size()};
    const std::string file = shard_name(*arguments.text("output"), *shard);
    if (is_whole_shard(file, head)) {
      if (!arguments.quiet()) print_note(file + " is there already");
      return ExitStatus::done;
    }
    auto own = std::make_unique<ShardSink>(file, head);
    part = own.get();
    sink = std::move(own);
  } else {
    sink = sink_of(arguments, form, rows.described(), indexed);
  }
  const std::size_t threads = threads_of(arguments);
  std::vector<RowBatch> batches(slots_of(threads));
  std::vector<SharedCells> shared(batches.size());
  const bool at_once = (form == RowForm::csv || form == RowForm::json) && !arguments.has("output");
  bool any_feasible = false;
  {
    // A bar would disturb rows that go to the terminal one by one.
    Progress progress(arguments, "sweep", !(at_once && ::isatty(STDOUT_FILENO)));
    try {
      any_feasible = grid.each_point(
          {.places = places, .threads = threads, .wanted = rows.wanted(), .progress = progress.callback()},
          [&](std::size_t slot, const SweptPoint& point) { sink->add(rows.row(point, shared[slot]), batches[slot]); },
          [&](std::size_t slot) { sink->write(batches[slot]); });
    } catch (const InputError&) {
      sink->failed();
      throw;
    }
  }
  if (part) part->set_feasible(any_feasible);
  sink->commit();
  return part ? ExitStatus::done : status_of_sweep(arguments, any_feasible);
}

std::vector<OptionSpec> sweep_options() {
  auto output = output_options();
  for (OptionSpec& option : output) {
    if (option.name == "format") option.help = "csv (default), json (one object a line), text or md";
    if (option.name == "output")
      option.help = "write to this file; its ending chooses the format: .csv, .jsonl, .md, .txt, or .sqlite";
  }
  return point_options() + sweep_axis_options() +
         std::vector<OptionSpec>{
             {"columns", "columns to print, in this order, as in q_len,memory_bytes (default: all)"},
             {"shard", "predict part NUMBER/OF alone, into FILE.shard-NUMBER-of-OF; sweep merge -o FILE joins them"},
             threads_option()} +
         output;
}

}  // namespace

Command sweep_command() {
  return {
      .name = "sweep",
      .summary = "predict many points, one row each: CSV, JSON Lines, SQLite, text or Markdown",
      .usage = "--axis NAME=VALUES [--axis ...] --hardware ID ... | merge -o FILE [SHARD...]",
      .examples =
          {"tilescope sweep --axis seqlen=1k:128k:x2 --axis tile_kv=32,64,128 --hardware h200_sxm "
           "--heads 16 --format csv -o sweep.csv",
           "tilescope sweep --axis hardware=h100_sxm,h200_sxm --axis dtype.kv=fp16,fp8 --axis "
           "kv_len=1k:64k:x2 --q-len 1 --schedule split-kv --heads-q 32 --heads-kv 8 --head-dim 128 -o "
           "decode.sqlite",
           "tilescope sweep --axis q_len=64:64k:+64 --axis kv_len=64:64k:+64 --where 'kv_len >= q_len' --random "
           "1000 --seed 7 --hardware h200_sxm --tile first --l2 closed"},
      .notes =
          "As with the options, heads_q also sets heads_kv, q_len also sets kv_len, and head_dim also sets v_head_dim, "
          "unless they are given.\n"
          "Without --tile or a tile axis every point has the tile that tilescope search ranks first. With --tile "
          "first every point has the best tile of the first point. --l2 closed is much faster than the walk.\n"
          "Of axes like hardware, kernel, dtype and mask each combination that predict refuses keeps its rows, without "
          "numbers.\n"
          "--shard cuts the points into consecutive parts for several machines. A part that is there already is not "
          "predicted again. sweep merge checks that no part is missing, doubled, or of another version or other "
          "options, and writes what one run would have written.\n"
          "Exit status 1 when no point can run.",
      .options = sweep_options,
      .run = sweep_points,
      .most_positional = 1'000'000,
      .first_words = {"merge"}};
}

}  // namespace tilescope::cli
