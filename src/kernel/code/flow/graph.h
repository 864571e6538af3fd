// Directed graphs: reachability, dominators, natural loops. Nodes are numbers from 0 on.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope {

struct Graph {
  std::vector<std::vector<std::size_t>> successors;  // by node
  std::vector<std::size_t> roots;                    // where control enters

  std::size_t size() const { return successors.size(); }
};

// Which nodes are reached from the roots, and the immediate dominator of each. A node that several roots reach on
// separate ways has none, as a root has none.
struct Dominators {
  std::vector<bool> reached;
  std::vector<std::optional<std::size_t>> immediate;
  std::vector<std::size_t> order;  // reached nodes in reverse postorder

  bool dominates(std::size_t above, std::size_t below) const;  // also itself
};
Dominators dominators_of(const Graph& graph);

// A natural loop: the nodes that reach a back edge without passing its target, which dominates them.
struct NaturalLoop {
  std::size_t header = 0;
  std::vector<std::size_t> latches;     // sources of the edges back to the header, ascending
  std::vector<std::size_t> nodes;       // ascending; those of inner loops too
  std::optional<std::size_t> parent{};  // index of the smallest loop around it
  int depth = 1;
};

struct LoopForest {
  std::vector<NaturalLoop> loops;                     // outer before inner, then by header
  std::vector<std::optional<std::size_t>> innermost;  // loop of each node
  // Edges back into a cycle that has several entries: such a cycle is no natural loop.
  std::vector<std::pair<std::size_t, std::size_t>> irreducible;
};
LoopForest loops_of(const Graph& graph, const Dominators& dominators);

}  // namespace tilescope
