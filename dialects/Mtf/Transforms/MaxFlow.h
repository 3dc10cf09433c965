//===- MaxFlow.h - maximum flow and minimum cut (Dinic) --------------------===//
#ifndef MTF_TRANSFORMS_MAXFLOW_H
#define MTF_TRANSFORMS_MAXFLOW_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace meshc::mtf {

/// A directed graph with capacities. O(V^2 E), in practice close to linear on graphs of programs. Paths are followed without
/// recursion, so long chains of ops do not exhaust the stack.
class MaxFlow {
public:
  static constexpr int64_t kInfinite = int64_t(1) << 60;

  int addNode() {
    edges.emplace_back();
    return static_cast<int>(edges.size()) - 1;
  }

  void addEdge(int from, int to, int64_t capacity) {
    if (from == to)
      return;
    edges[from].push_back({to, static_cast<int>(edges[to].size()), capacity, capacity > 0});
    edges[to].push_back({from, static_cast<int>(edges[from].size()) - 1, 0, false});
  }

  void run(int source, int sink) {
    while (buildLevels(source, sink)) {
      next.assign(edges.size(), 0);
      while (augment(source, sink)) {
      }
    }
  }

  /// After `run`: the source's side of the minimum cut that lies closest to the sink, without nodes that nothing ties to the source.
  std::vector<bool> sourceSide(int source, int sink) const {
    std::vector<bool> reachesSink(edges.size(), false), side(edges.size(), false);
    std::vector<int> work = {sink};
    reachesSink[sink] = true;
    while (!work.empty()) {
      int node = work.back();
      work.pop_back();
      for (const Edge &edge : edges[node])
        if (!reachesSink[edge.to] && edges[edge.to][edge.reverse].capacity > 0) {
          reachesSink[edge.to] = true;
          work.push_back(edge.to);
        }
    }
    work = {source};
    side[source] = true;
    while (!work.empty()) {
      int node = work.back();
      work.pop_back();
      for (const Edge &edge : edges[node])
        if (edge.isForward && !side[edge.to] && !reachesSink[edge.to]) {
          side[edge.to] = true;
          work.push_back(edge.to);
        }
    }
    return side;
  }

private:
  struct Edge {
    int to;
    int reverse; ///< Index of the opposite edge in `edges[to]`.
    int64_t capacity;
    bool isForward;
  };

  bool buildLevels(int source, int sink) {
    level.assign(edges.size(), -1);
    level[source] = 0;
    std::vector<int> queue = {source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (const Edge &edge : edges[queue[i]])
        if (edge.capacity > 0 && level[edge.to] < 0) {
          level[edge.to] = level[queue[i]] + 1;
          queue.push_back(edge.to);
        }
    return level[sink] >= 0;
  }

  /// Sends flow along one path of the level graph.
  bool augment(int source, int sink) {
    std::vector<std::pair<int, int>> path; // node, edge taken
    int node = source;
    while (node != sink) {
      bool advanced = false;
      for (int &i = next[node]; i < static_cast<int>(edges[node].size()); ++i) {
        const Edge &edge = edges[node][i];
        if (edge.capacity > 0 && level[edge.to] == level[node] + 1) {
          path.push_back({node, i});
          node = edge.to;
          advanced = true;
          break;
        }
      }
      if (advanced)
        continue;
      if (path.empty())
        return false;
      node = path.back().first;
      ++next[node];
      path.pop_back();
    }
    int64_t flow = kInfinite;
    for (auto [from, i] : path)
      flow = std::min(flow, edges[from][i].capacity);
    for (auto [from, i] : path) {
      Edge &edge = edges[from][i];
      edge.capacity -= flow;
      edges[edge.to][edge.reverse].capacity += flow;
    }
    return true;
  }

  std::vector<std::vector<Edge>> edges;
  std::vector<int> level, next;
};

} // namespace meshc::mtf

#endif
