#include "kernel/code/flow/graph.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/test_seed.h"

namespace graph_test {

using namespace tilescope;

namespace {

Graph random_graph(std::mt19937& random, std::size_t nodes) {
  Graph graph{.successors = std::vector<std::vector<std::size_t>>(nodes), .roots = {0}};
  for (std::size_t node = 0; node < nodes; ++node)
    for (auto edges = random() % 3; edges > 0; --edges) {
      const std::size_t near = std::min(nodes - 1, node + 1 + random() % 2), any = random() % nodes;
      graph.successors[node].push_back(random() % 3 == 0 ? any : near);
    }
  if (random() % 4 == 0) graph.roots.push_back(random() % nodes);
  return graph;
}

// Nodes reached from `start` without entering `avoided`.
std::set<std::size_t> walk(const Graph& graph, const std::vector<std::size_t>& start, std::size_t avoided) {
  std::set<std::size_t> seen;
  std::vector<std::size_t> waiting = start;
  while (!waiting.empty()) {
    const std::size_t node = waiting.back();
    waiting.pop_back();
    if (node == avoided || !seen.insert(node).second) continue;
    waiting.insert(waiting.end(), graph.successors[node].begin(), graph.successors[node].end());
  }
  return seen;
}

// By definition: `above` is on every way from a root to `below`.
bool is_on_every_way(const Graph& graph, std::size_t above, std::size_t below) {
  return above == below || walk(graph, graph.roots, above).count(below) == 0;
}

// By definition: the nodes from which a latch is reached without passing the header.
std::vector<std::size_t> loop_nodes(const Graph& graph, std::size_t header, const std::vector<std::size_t>& latches,
                                    const std::set<std::size_t>& reached) {
  std::vector<std::size_t> nodes;
  for (const std::size_t node : reached) {
    const std::set<std::size_t> from = node == header ? std::set{header} : walk(graph, {node}, header);
    if (node == header || std::any_of(latches.begin(), latches.end(), [&](std::size_t l) { return from.count(l) > 0; }))
      nodes.push_back(node);
  }
  return nodes;
}

// Whether a cycle is left when the edges back to a dominating node are taken away.
bool has_cycle_without_back_edges(const Graph& graph, const Dominators& dominators,
                                  const std::set<std::size_t>& reached) {
  Graph rest = graph;
  for (std::size_t node = 0; node < graph.size(); ++node)
    std::erase_if(rest.successors[node], [&](std::size_t to) { return dominators.dominates(to, node); });
  return std::any_of(reached.begin(), reached.end(),
                     [&](std::size_t node) { return walk(rest, rest.successors[node], graph.size()).count(node) > 0; });
}

}  // namespace

TEST_CASE("dominators and loops of random graphs are those of their definitions") {
  std::mt19937 random(test_seed());
  int loops = 0, nested = 0, irreducible = 0;
  for (int round = 0; round < 1500; ++round) {
    const Graph graph = random_graph(random, 2 + random() % 14);
    const Dominators dominators = dominators_of(graph);
    const std::set<std::size_t> reached = walk(graph, graph.roots, graph.size());
    for (std::size_t node = 0; node < graph.size(); ++node)
      CHECK(dominators.reached[node] == (reached.count(node) > 0));
    for (const std::size_t a : reached)
      for (const std::size_t b : reached) CHECK(dominators.dominates(a, b) == is_on_every_way(graph, a, b));
    const LoopForest forest = loops_of(graph, dominators);
    std::set<std::size_t> headers;
    for (const NaturalLoop& loop : forest.loops) {
      CHECK(headers.insert(loop.header).second);
      CHECK(loop.nodes == loop_nodes(graph, loop.header, loop.latches, reached));
      if (!loop.parent) continue;
      ++nested;
      const std::vector<std::size_t>& outer = forest.loops[*loop.parent].nodes;
      CHECK(std::includes(outer.begin(), outer.end(), loop.nodes.begin(), loop.nodes.end()));
    }
    loops += static_cast<int>(forest.loops.size());
    for (const std::size_t node : reached)
      for (const std::size_t to : graph.successors[node])
        if (is_on_every_way(graph, to, node)) CHECK(headers.count(to) == 1);
    CHECK(forest.irreducible.empty() != has_cycle_without_back_edges(graph, dominators, reached));
    irreducible += !forest.irreducible.empty();
  }
  CHECK(loops > 300);
  CHECK(nested > 15);
  CHECK(irreducible > 15);
}

}  // namespace graph_test
