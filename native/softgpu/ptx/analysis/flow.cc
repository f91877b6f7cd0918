#include "softgpu/ptx/analysis/flow.h"

#include <algorithm>

namespace sluice::ptx {
namespace {

bool is_branch(const Instruction& in) { return in.name == "bra" || in.name == "brx"; }

// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy on the reversed
// graph. `exits` are the blocks from which the virtual exit node is reached.
class PostDominators {
 public:
  PostDominators(Flow& flow, std::vector<uint32_t> exits)
      : flow_(flow), exit_(static_cast<uint32_t>(flow.blocks.size())), exits_(std::move(exits)) {}

  void run() {
    const uint32_t n = exit_ + 1;
    predecessors_.resize(n);
    for (uint32_t b = 0; b < exit_; ++b) {
      for (const uint32_t s : flow_.blocks[b].successors) predecessors_[s].push_back(b);
    }
    for (const uint32_t b : exits_) predecessors_[exit_].push_back(b);
    order_.assign(n, kNone);
    visit(exit_);
    // Blocks that never reach the end (endless loops): give each such region an edge to the exit, from
    // its last block, so that every block has a post-dominator.
    for (uint32_t b = exit_; b-- > 0;) {
      if (order_[b] != kNone) continue;
      predecessors_[exit_].push_back(b);
      extra_.push_back(b);
      visit(b);
    }
    // Visits gave postorder numbers; the exit must come first in reverse postorder.
    std::vector<uint32_t> by_order(n);
    order_[exit_] = n;
    by_order.clear();
    for (uint32_t i = 0; i < n; ++i) {
      if (i != exit_) by_order.push_back(i);
    }
    std::sort(by_order.begin(), by_order.end(),
              [&](uint32_t a, uint32_t b) { return order_[a] > order_[b]; });
    std::vector<bool> leaves(n, false);
    for (const uint32_t b : exits_) leaves[b] = true;
    for (const uint32_t b : extra_) leaves[b] = true;
    dominator_.assign(n, kNone);
    dominator_[exit_] = exit_;
    bool changed = true;
    while (changed) {
      changed = false;
      for (const uint32_t b : by_order) {
        uint32_t best = leaves[b] ? exit_ : kNone;
        for (const uint32_t s : flow_.blocks[b].successors) {
          if (dominator_[s] == kNone) continue;
          best = best == kNone ? s : intersect(s, best);
        }
        if (best != kNone && dominator_[b] != best) {
          dominator_[b] = best;
          changed = true;
        }
      }
    }
    for (uint32_t b = 0; b < exit_; ++b) {
      flow_.blocks[b].post_dominator = dominator_[b] == exit_ ? kNone : dominator_[b];
    }
  }

 private:
  uint32_t intersect(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (order_[a] < order_[b]) a = dominator_[a];
      while (order_[b] < order_[a]) b = dominator_[b];
    }
    return a;
  }

  void visit(uint32_t root) {
    if (order_[root] != kNone) return;
    order_[root] = kNone - 1;  // on the stack
    std::vector<std::pair<uint32_t, uint32_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < predecessors_[node].size()) {
        const uint32_t p = predecessors_[node][next++];
        if (order_[p] == kNone) {
          order_[p] = kNone - 1;
          stack.emplace_back(p, 0);
        }
      } else {
        order_[node] = counter_++;
        stack.pop_back();
      }
    }
  }

  Flow& flow_;
  uint32_t exit_;
  std::vector<uint32_t> exits_;
  std::vector<uint32_t> extra_;
  std::vector<std::vector<uint32_t>> predecessors_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> dominator_;
  uint32_t counter_ = 0;
};

}  // namespace

Flow analyze_flow(const Function& function) {
  const auto count = static_cast<uint32_t>(function.code.size());
  // A kernel's return ends the lane: nothing is gained by meeting there.
  const auto ends_lane = [&](const Instruction& in) {
    return in.name == "exit" || in.name == "trap" || (function.is_entry && in.name == "ret");
  };
  const auto is_return = [&](const Instruction& in) { return !function.is_entry && in.name == "ret"; };
  // One more "instruction" stands for the function's end, where returning lanes meet.
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  starts[count] = true;
  const auto targets = [&](const Instruction& in, auto&& use) {
    for (uint32_t i = 0; i < in.operand_count; ++i) {
      const Operand& operand = function.operand(in, i);
      if (operand.kind == OperandKind::kLabel) use(operand.index);
      if (operand.kind == OperandKind::kLabelList) {
        for (const uint32_t target : function.label_lists[operand.index]) use(target);
      }
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction& in = function.code[i];
    if (is_branch(in)) targets(in, [&](uint32_t target) { starts[target] = true; });
    if (is_branch(in) || is_return(in) || ends_lane(in)) starts[i + 1] = true;
  }
  Flow flow;
  flow.block_of.resize(count + 1);
  for (uint32_t i = 0; i <= count; ++i) {
    if (starts[i]) {
      if (!flow.blocks.empty()) flow.blocks.back().end = i;
      flow.blocks.emplace_back();
      flow.blocks.back().begin = i;
    }
    flow.block_of[i] = static_cast<uint32_t>(flow.blocks.size() - 1);
  }
  flow.blocks.back().end = count + 1;
  std::vector<uint32_t> exits{static_cast<uint32_t>(flow.blocks.size() - 1)};
  for (uint32_t b = 0; b + 1 < flow.blocks.size(); ++b) {
    FlowBlock& block = flow.blocks[b];
    const Instruction& last = function.code[block.end - 1];
    const bool conditional = last.guard != kNone;
    const auto add = [&](uint32_t successor) { block.successors.push_back(successor); };
    if (is_branch(last)) {
      targets(last, [&](uint32_t target) { add(flow.block_of[target]); });
    } else if (is_return(last)) {
      add(flow.block_of[count]);
    } else if (ends_lane(last) && !conditional) {
      exits.push_back(b);
    }
    if (conditional || (!is_branch(last) && !is_return(last) && !ends_lane(last))) add(b + 1);
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                           block.successors.end());
  }
  PostDominators(flow, std::move(exits)).run();
  return flow;
}

}  // namespace sluice::ptx
