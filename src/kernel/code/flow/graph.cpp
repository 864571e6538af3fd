#include "kernel/code/flow/graph.h"

#include <algorithm>

namespace tilescope {
namespace {

// Nodes in postorder and, if asked for, the edges back to a node that the walk has not left.
std::vector<std::size_t> postorder_of(const Graph& graph,
                                      std::vector<std::pair<std::size_t, std::size_t>>* retreating = nullptr) {
  enum class Mark { fresh, open, done };
  std::vector<Mark> marks(graph.size(), Mark::fresh);
  std::vector<std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> path;  // node, next successor
  for (const std::size_t root : graph.roots) {
    if (marks[root] != Mark::fresh) continue;
    marks[root] = Mark::open, path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == graph.successors[node].size()) {
        marks[node] = Mark::done, order.push_back(node), path.pop_back();
        continue;
      }
      const std::size_t target = graph.successors[node][next++];
      if (marks[target] == Mark::open && retreating != nullptr) retreating->emplace_back(node, target);
      if (marks[target] == Mark::fresh) marks[target] = Mark::open, path.emplace_back(target, 0);
    }
  }
  return order;
}

std::vector<std::vector<std::size_t>> predecessors_of(const Graph& graph) {
  std::vector<std::vector<std::size_t>> predecessors(graph.size());
  for (std::size_t node = 0; node < graph.size(); ++node)
    for (const std::size_t target : graph.successors[node]) predecessors[target].push_back(node);
  return predecessors;
}

void add_body(NaturalLoop& loop, const std::vector<std::vector<std::size_t>>& predecessors,
              const Dominators& dominators) {
  std::vector<bool> inside(predecessors.size(), false);
  std::vector<std::size_t> waiting = loop.latches;
  inside[loop.header] = true;
  while (!waiting.empty()) {
    const std::size_t node = waiting.back();
    waiting.pop_back();
    if (inside[node]) continue;
    inside[node] = true;
    for (const std::size_t before : predecessors[node])
      if (dominators.reached[before]) waiting.push_back(before);
  }
  for (std::size_t node = 0; node < inside.size(); ++node)
    if (inside[node]) loop.nodes.push_back(node);
}

}  // namespace

// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm". A node above all roots stands for the way in.
Dominators dominators_of(const Graph& graph) {
  const std::size_t top = graph.size(), none = top + 1;
  std::vector<std::size_t> order = postorder_of(graph), rank(graph.size() + 1, 0), above(graph.size() + 1, none);
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  rank[top] = order.size(), above[top] = top;
  const auto predecessors = predecessors_of(graph);
  for (const std::size_t root : graph.roots) above[root] = top;
  const auto common = [&](std::size_t a, std::size_t b) {
    while (a != b) (rank[a] < rank[b] ? a : b) = above[rank[a] < rank[b] ? a : b];
    return a;
  };
  std::reverse(order.begin(), order.end());
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t node : order) {
      std::size_t found = std::count(graph.roots.begin(), graph.roots.end(), node) > 0 ? top : none;
      for (const std::size_t before : predecessors[node])
        if (above[before] != none) found = found == none ? before : common(found, before);
      if (found != above[node]) above[node] = found, changed = true;
    }
  }
  Dominators result{.reached = std::vector<bool>(graph.size()), .immediate = {}, .order = std::move(order)};
  result.immediate.resize(graph.size());
  for (const std::size_t node : result.order) {
    result.reached[node] = true;
    if (above[node] != top) result.immediate[node] = above[node];
  }
  return result;
}

bool Dominators::dominates(std::size_t above, std::size_t below) const {
  if (!reached[above] || !reached[below]) return false;
  for (std::optional<std::size_t> node = below; node; node = immediate[*node])
    if (*node == above) return true;
  return false;
}

LoopForest loops_of(const Graph& graph, const Dominators& dominators) {
  LoopForest forest;
  const auto predecessors = predecessors_of(graph);
  std::vector<std::vector<std::size_t>> latches(graph.size());
  for (std::size_t node = 0; node < graph.size(); ++node)
    for (const std::size_t target : graph.successors[node])
      if (dominators.dominates(target, node)) latches[target].push_back(node);
  for (std::size_t header = 0; header < graph.size(); ++header) {
    if (latches[header].empty()) continue;
    std::vector<std::size_t>& ends = latches[header];
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    NaturalLoop loop{.header = header, .latches = std::move(ends), .nodes = {}};
    add_body(loop, predecessors, dominators);
    forest.loops.push_back(std::move(loop));
  }
  std::stable_sort(forest.loops.begin(), forest.loops.end(),
                   [](const NaturalLoop& a, const NaturalLoop& b) { return a.nodes.size() > b.nodes.size(); });
  forest.innermost.resize(graph.size());
  for (std::size_t i = 0; i < forest.loops.size(); ++i) {  // loops are nested or share no node
    NaturalLoop& loop = forest.loops[i];
    loop.parent = forest.innermost[loop.header];
    if (loop.parent) loop.depth = forest.loops[*loop.parent].depth + 1;
    for (const std::size_t node : loop.nodes) forest.innermost[node] = i;
  }
  postorder_of(graph, &forest.irreducible);
  std::erase_if(forest.irreducible, [&](const auto& edge) { return dominators.dominates(edge.second, edge.first); });
  return forest;
}

}  // namespace tilescope
