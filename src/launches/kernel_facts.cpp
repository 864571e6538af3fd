#include "launches/kernel_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
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
    FoundFacts& found = known_[{text("module"), text("kernel")}];
    if (const auto facts = json.find("facts"); facts != json.end() && facts->is_object())
      found.facts = read_facts(facts->dump(), file_.string());
    else if (found.missing = text("missing"); found.missing.empty())
      fail("expected the facts of the kernel, or why there are none in `missing`");
  }
}

void KernelFacts::none(const std::string& module, const std::vector<std::string>& symbols, const std::string& why) {
  for (const std::string& symbol : symbols)
    known_.try_emplace({module, symbol}, FoundFacts{.facts = {}, .missing = why});
}

bool KernelFacts::can_read(const std::string& module) const {
  std::error_code ignored;
  return nvdisasm_ && !module.empty() && fs::is_regular_file(cubins_ / (module + ".cubin"), ignored);
}

void KernelFacts::read_module(const std::string& module, const std::vector<std::string>& symbols) {
  const fs::path file = cubins_ / (module + ".cubin");
  std::error_code ignored;
  if (module.empty() || !fs::is_regular_file(file, ignored)) return none(module, symbols, "its code was not captured");
  if (!nvdisasm_) return none(module, symbols, nvdisasm_advice());
  try {
    for (const Cubin& cubin : read_code_file(file)) {
      std::vector<const CubinKernel*> kernels;
      for (const CubinKernel& kernel : cubin.kernels)
        if (std::find(symbols.begin(), symbols.end(), kernel.name) != symbols.end()) kernels.push_back(&kernel);
      std::vector<CodeSummary> code = machine_code(*nvdisasm_, cubin, kernels, file.string());
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const Name name{module, kernels[i]->name};
        FoundFacts& found = known_[name] = attention_facts(*kernels[i], cubin.compute_capability, code[i]);
        if (!found.facts) found.missing = "its code lacks " + found.missing;
        if (found.facts) code_.insert_or_assign(name, Code{*kernels[i], std::move(code[i])});
        changed_ = true;
      }
    }
  } catch (const InputError& error) {  // code of one library that cannot be read does not hide the others
    none(module, symbols, error.diagnostics().front().message);
  }
}

void KernelFacts::read(const std::vector<const capture::CapturedKernel*>& kernels) {
  std::map<std::string, std::set<std::string>> wanted;  // symbols by module
  for (const capture::CapturedKernel* kernel : kernels) {
    const auto known = known_.find({kernel->module, kernel->symbol});
    const bool only_code_lacks = known != known_.end() && known->second.facts && can_read(kernel->module);
    if (known == known_.end() || only_code_lacks) wanted[kernel->module].insert(kernel->symbol);
  }
  for (const auto& [module, symbols] : wanted) read_module(module, {symbols.begin(), symbols.end()});
}

const FoundFacts& KernelFacts::of(const std::string& module, const std::string& symbol) const {
  static const FoundFacts unread{.facts = {}, .missing = "its code was not read"};
  const auto found = known_.find({module, symbol});
  return found != known_.end() ? found->second : unread;
}

const KernelFacts::Code* KernelFacts::code_of(const capture::CapturedKernel& kernel) const {
  const auto found = code_.find({kernel.module, kernel.symbol});
  return found != code_.end() ? &found->second : nullptr;
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
  write_file(file_, lines);
}

}  // namespace tilescope::launches
