// Checks the references between sections of a lowering file after all sections have been read.
#include <fmt/format.h>

#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "lower/read_parts.h"

namespace tilescope::lower {
namespace {

using Names = std::vector<std::string>;

template <class T>
Names names_of(const std::vector<T>& list) {
  Names names;
  for (const T& entry : list) names.push_back(entry.name);
  return names;
}

void unique_names(const Node& list, std::set<std::string>& seen) {
  for (const Node& item : list.items())
    if (!seen.insert(item["name"].text()).second)
      item["name"].report(fmt::format("'{}' is listed twice", item["name"].text()));
}

// A scope that no variable uses, or that is not a whole number of the copied threads.
void check_scope(const Node& node, const Variable& variable, const Lowering& lowering) {
  const ResidentCopies& copies = lowering.copies;
  if (variable.scope == Scope::warpgroup && copies.scope == Scope::warp)
    return node.report("'warpgroup' is larger than the 'warp' that is copied; use block");
  if (variable.scope != Scope::block && copies.threads % threads_of(variable.scope, lowering) != 0)
    return node.report(
        fmt::format("the {} threads that are copied are no whole {}s", copies.threads, to_string(variable.scope)));
  if (variable.level == LevelId::reg && variable.scope == Scope::block && copies.scope != Scope::block)
    node.report(fmt::format("registers belong to threads: the scope is warp or {}", to_string(copies.scope)));
}

void check_variable(const Node& node, const Variable& variable, const Lowering& lowering) {
  check_scope(node["scope"], variable, lowering);
  const Names plans = names_of(lowering.plans);
  if (const auto given = node.find("plans"))
    for (const Node& item : given->items())
      if (!contains(plans, item.text()))
        item.report(fmt::format("{} is not a plan{}", shown_text(item.text()), did_you_mean(item.text(), plans)));
  if (variable.shares.empty()) return;
  for (const Variable& owner : lowering.variables) {
    if (owner.name != variable.shares) continue;
    const auto outlives = [&](const std::string& plan) { return owner.plans.empty() || contains(owner.plans, plan); };
    const bool in_its_plans = variable.plans.empty()
                                  ? owner.plans.empty()
                                  : std::all_of(variable.plans.begin(), variable.plans.end(), outlives);
    if (!owner.shares.empty() || owner.level != variable.level || owner.scope != variable.scope || !in_its_plans)
      node["shares"].report(
          fmt::format("'{}' must have its own storage at the same level, in the same scope and plans", owner.name));
    return;
  }
  const Names names = names_of(lowering.variables);
  node["shares"].report(
      fmt::format("{} is not a variable{}", shown_text(variable.shares), did_you_mean(variable.shares, names)));
}

// Every operation in exactly one phase.
void check_phases(const Node& node, const PhaseOverlap& overlap, const Names& operations) {
  if (overlap.style != "phases") return;
  Names named;
  for (const auto& phase : overlap.phases)
    for (const std::string& name : phase) {
      if (!contains(operations, name))
        node["phases"].report(
            fmt::format("{} is not an operation{}", shown_text(name), did_you_mean(name, operations)));
      if (contains(named, name)) node["phases"].report(fmt::format("'{}' is in two phases", name));
      named.push_back(name);
    }
  for (const std::string& name : operations)
    if (!contains(named, name)) node["phases"].report(fmt::format("'{}' is in no phase", name));
}

}  // namespace

void check_references(const Node& root, const Lowering& lowering) {
  std::set<std::string> variables, plans, work;
  unique_names(root["variables"], variables);
  unique_names(root["plans"], plans);
  for (const char* key : {"operations", "matmuls"})
    if (const auto list = root["work"].find(key)) unique_names(*list, work);
  if (work.empty()) root["work"].report("has no operations and no matmuls");
  if (plans.empty()) root["plans"].report("is an empty list; give one plan, '[{name: ...}]'");
  const std::vector<Node> variable_nodes = root["variables"].items();
  for (std::size_t i = 0; i < variable_nodes.size(); ++i)
    check_variable(variable_nodes[i], lowering.variables[i], lowering);
  const std::int64_t warp = threads_of(Scope::warp, lowering);
  if (lowering.copies.threads % warp != 0)
    root["copies"]["threads"].report(
        fmt::format("expected whole warps of {} threads, found {}", warp, lowering.copies.threads));
  const Names operations(work.begin(), work.end());
  check_phases(root["overlap"], read_overlap(root["overlap"]), operations);
  for (const Node& item : root["plans"].items())
    if (const auto own = item.find("overlap")) check_phases(*own, read_overlap(*own), operations);
}

}  // namespace tilescope::lower
