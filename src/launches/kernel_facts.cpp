#include "launches/kernel_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kernel/code/code_file.h"
#include "kernel/code/machine_code.h"
#include "kernel/code/sass/nvdisasm.h"
#include "records/capture/capture_lines.h"

namespace tilescope::launches {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* facts_schema = "tilescope/capture-facts/1";
constexpr std::size_t largest_facts_file = std::size_t{64} << 20;

fs::path capture_file(const fs::path& place) {
  std::error_code ignored;
  return fs::is_directory(place, ignored) ? place / capture::capture_file_name : place;
}

}  // namespace

KernelFacts::KernelFacts(const fs::path& place, std::optional<fs::path> nvdisasm)
    : file_(capture_file(place).replace_extension(".facts.jsonl")),
      cubins_(capture_file(place).parent_path() / "cubins"),
      nvdisasm_(std::move(nvdisasm)) {
  load();
}

void KernelFacts::load() {
  std::error_code ignored;
  if (!fs::is_regular_file(file_, ignored)) return;
  int number = 0;
  for (const std::string& line : split(read_file(file_, largest_facts_file), '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto fail = [&](const std::string& message) {
      throw InputError(Diagnostic{.file = file_.string(), .line = number, .message = message});
    };
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto text = [&](const char* key) {
      const auto found = json.find(key);
      return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!json.is_object() || text("schema") != facts_schema)
      fail(fmt::format("expected an object of schema {}", facts_schema));
    if (text("kernel").empty()) fail("kernel: expected the kernel's symbol");
    if (json.contains("launch")) {
      if (!load_launch(json)) fail("expected the place of a launch in the capture, its grid, and what it shows");
      continue;
    }
    FoundFacts& found = known_[{text("module"), text("kernel")}];
    if (const auto facts = json.find("facts"); facts != json.end() && facts->is_object())
      found.facts = read_facts(facts->dump(), file_.string());
    else if (found.missing = text("missing"); found.missing.empty())
      fail("expected the facts of the kernel, or why there are none in `missing`");
  }
}

bool KernelFacts::load_launch(const nlohmann::json& line) {
  const auto launch = line.find("launch"), grid = line.find("grid"), shown = line.find("shown");
  if (!launch->is_number_unsigned() || grid == line.end() || shown == line.end() || !shown->is_object()) return false;
  StoredLaunch& stored = launches_[launch->get<std::size_t>()];
  stored.kernel = line.at("kernel").get<std::string>();
  const bool three = grid->is_array() && grid->size() == stored.grid.size() &&
                     std::all_of(grid->begin(), grid->end(), [](const auto& size) { return size.is_number_integer(); });
  if (three) grid->get_to(stored.grid);
  stored.shown = read_shown(shown->dump(), file_.string());
  return three;
}

bool KernelFacts::can_read(const std::string& module) const {
  std::error_code ignored;
  return nvdisasm_ && !module.empty() && fs::is_regular_file(cubins_ / (module + ".cubin"), ignored);
}

// What was found in one module.
struct KernelFacts::ReadModule {
  std::map<Name, FoundFacts> facts;
  std::map<Name, KernelCode> code;
  std::string missing;  // why nothing was found
};

KernelFacts::ReadModule KernelFacts::read_module(const std::string& module,
                                                 const std::set<std::string>& symbols) const {
  ReadModule read;
  const fs::path file = cubins_ / (module + ".cubin");
  std::error_code ignored;
  if (module.empty() || !fs::is_regular_file(file, ignored)) read.missing = "its code was not captured";
  else if (!nvdisasm_) read.missing = nvdisasm_advice();
  if (!read.missing.empty()) return read;
  try {
    for (const Cubin& cubin : read_code_file(file)) {
      std::vector<const CubinKernel*> kernels;
      for (const CubinKernel& kernel : cubin.kernels)
        if (symbols.contains(kernel.name)) kernels.push_back(&kernel);
      std::vector<CodeSummary> code = machine_code(*nvdisasm_, cubin, kernels, file.string());
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const Name name{module, kernels[i]->name};
        FoundFacts& found = read.facts[name] = attention_facts(*kernels[i], cubin.compute_capability, code[i]);
        if (!found.facts) found.missing = "its code lacks " + found.missing;
        else read.code.insert_or_assign(name, KernelCode{*kernels[i], std::move(code[i]), *found.facts});
      }
    }
  } catch (const InputError& error) {  // code of one library that cannot be read does not hide the others
    read.missing = error.diagnostics().front().message;
  }
  return read;
}

void KernelFacts::read(const std::vector<const capture::CapturedKernel*>& kernels) {
  std::map<std::string, std::set<std::string>> wanted;  // symbols by module
  for (const capture::CapturedKernel* kernel : kernels) {
    const auto known = known_.find({kernel->module, kernel->symbol});
    const bool only_code_lacks = known != known_.end() && known->second.facts && can_read(kernel->module);
    if (known == known_.end() || only_code_lacks) wanted[kernel->module].insert(kernel->symbol);
  }
  const std::vector<std::pair<std::string, std::set<std::string>>> modules(wanted.begin(), wanted.end());
  std::vector<ReadModule> slots(slots_of(all_cores()));
  in_order(
      modules.size(), all_cores(),
      [&](std::size_t i, std::size_t slot) { slots[slot] = read_module(modules[i].first, modules[i].second); },
      [&](std::size_t i, std::size_t slot) {
        ReadModule& found = slots[slot];
        changed_ = changed_ || !found.facts.empty();
        for (auto& [name, facts] : found.facts) known_.insert_or_assign(name, std::move(facts));
        for (auto& [name, code] : found.code) code_.insert_or_assign(name, std::move(code));
        if (!found.missing.empty())
          for (const std::string& symbol : modules[i].second)
            known_.try_emplace({modules[i].first, symbol}, FoundFacts{.facts = {}, .missing = found.missing});
      });
}

void KernelFacts::read_launches(const capture::Capture& capture,
                                const std::map<std::size_t, std::optional<Workload>>& launches) {
  const auto kernel_of = [&](std::size_t launch) -> const capture::CapturedKernel& {
    return capture.kernels[static_cast<std::size_t>(capture.launches[launch].kernel)];
  };
  std::vector<AskedLaunch> asked;
  for (const auto& [launch, known] : launches)
    if (const auto code = code_.find({kernel_of(launch).module, kernel_of(launch).symbol}); code != code_.end()) {
      asked.push_back({launch, &code->second, known});
      launches_.erase(launch);
    }
  for (auto& [launch, shown] : shown_launches(capture, asked))
    launches_[launch] = {kernel_of(launch).symbol, capture.launches[launch].grid, std::move(shown)};
  // Of another capture that stood here before.
  std::erase_if(launches_, [&](const auto& entry) {
    const auto& [launch, stored] = entry;
    return launch >= capture.launches.size() || stored.kernel != kernel_of(launch).symbol ||
           stored.grid != capture.launches[launch].grid;
  });
}

const ShownLaunch* KernelFacts::shown(std::size_t launch) const {
  const auto found = launches_.find(launch);
  return found != launches_.end() ? &found->second.shown : nullptr;
}

const FoundFacts& KernelFacts::of(const std::string& module, const std::string& symbol) const {
  static const FoundFacts unread{.facts = {}, .missing = "its code was not read"};
  const auto found = known_.find({module, symbol});
  return found != known_.end() ? found->second : unread;
}

void KernelFacts::store() const {
  if (!changed_) return;
  std::string lines;
  for (const auto& [name, found] : known_) {
    OrderedJson line{{"schema", facts_schema}, {"module", name.first}, {"kernel", name.second}};
    if (found.facts) line["facts"] = OrderedJson::parse(facts_json(*found.facts));
    else line["missing"] = found.missing;
    lines += line.dump() + "\n";
  }
  for (const auto& [launch, stored] : launches_) {
    OrderedJson line{{"schema", facts_schema}, {"launch", launch}, {"kernel", stored.kernel}, {"grid", stored.grid}};
    line["shown"] = OrderedJson::parse(shown_json(stored.shown));
    lines += line.dump() + "\n";
  }
  write_file(file_, lines);
}

}  // namespace tilescope::launches
