//===- ShardingGraph.h - one function as propagation sees it ---------------===//
//
// Two kinds of unknowns:
//
//   Variable   the sharding a value should have (its home). Values that are one by construction share a variable: a loop's carry and its
//              result, a slice and the stacked input it is taken from, a stacked output and the value stacked.
//   Node       the sharding an op executes with: axes per factor (MtfFactors.h). What the op needs of its operands and what its result is
//              when it is born follow from it. Loops and returns are nodes too ("links"), with one factor per name.
//
// Variables get axes from pins, then from the layout's rules in order (ShardingRules.cpp), then by inference from the nodes around them
// (ShardingPropagation.cpp), never losing one. A node's axes are a function of its variables. Where node and variable differ a reshard
// will stand. Which partial values stay partial is decided last (ShardingPartial.cpp).
//
// Free values (constants, indices, random numbers, scalar arguments, elementwise functions of these) have no variable: each use gets its own
// copy in the sharding it wants.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_SHARDINGGRAPH_H
#define MTF_TRANSFORMS_SHARDINGGRAPH_H

#include "Sharding.h"
#include "ShardingPadding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <optional>
#include <string>

namespace meshc::mtf {

/// Priority of a decision: the rule's place in the layout; smaller binds first.
inline constexpr int kPinned = -1, kInferred = 1 << 20;

/// One dimension of a variable and the axes that split it.
struct DimSplit {
  mlir::StringAttr name;
  AxisList axes;
  llvm::SmallVector<int, 2> priorities; ///< Per axis.
  bool closed = false;                  ///< Fixed by a pin.
};

struct Variable {
  enum Kind { Value, Param, State };

  llvm::SmallVector<DimSplit, 4> dims;
  Kind kind = Value;
  /// A value that has the dims of a parameter and is combined with it elementwise: its gradient, its update.
  bool paramLike = false;
  /// Of these, what an update is made from and what it makes: not the parameter in another form.
  bool gradientLike = false;
  /// Axes over which loops neither carry nor stack it as a sum that waits: `state(gradients)`.
  AxisSet complete = 0;
  /// On the way to an updated parameter or state, after all loops: placed as these are. Where a gradient comes out otherwise, it alone is
  /// moved, and not the parameter and every state there and back.
  bool update = false;
  /// False for arguments: rules alone place them.
  bool open = true;
  /// The parameter's path or the user's name for the value; may be empty.
  std::string path;
  mlir::Value example;
  llvm::SmallVector<unsigned, 4> nodes;
  /// One line per decision, `batch: data by rule 'batch -> data' (m.mesh:3:1)`.
  llvm::SmallVector<std::string, 2> reasons;

  DimSplit *find(mlir::StringAttr name);
  const DimSplit *find(mlir::StringAttr name) const { return const_cast<Variable *>(this)->find(name); }
  AxisSet used() const;
  void append(DimSplit &dim, Axis axis, int priority, std::string reason);
};

struct Node {
  mlir::Operation *op;
  bool isLink = false;
  /// Operands, then results; of a link all values tied together, the last being the variable that decides.
  llvm::SmallVector<mlir::Value, 4> values;
  unsigned numOperands;
  llvm::SmallVector<int, 4> variables; ///< -1: free.
  llvm::SmallVector<Factor, 4> factors;
  /// factorOf[value][dim of the value's type]
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 4> factorOf;
  llvm::SmallVector<AxisList, 4> axes; ///< Per factor.
  /// Axes over which a linear op takes and gives partial values: it does not split anything over them.
  AxisSet kept = 0;
};

/// Executions of `block` per call of its function.
int64_t tripCount(mlir::Block *block);

class ShardingGraph {
public:
  ShardingGraph(mlir::func::FuncOp function, const Mesh &mesh, const llvm::SmallDenseSet<mlir::StringAttr> &loopDims,
                const PaddedSizes &padded);

  /// Whether a dimension of this name and size may be cut into `shards` parts: they divide it, or it can be padded.
  bool canSplit(mlir::StringAttr name, int64_t size, int64_t shards) const {
    return size % shards == 0 || padded.mayPad(name, size);
  }

  bool isFree(mlir::Value value) const { return !variableOf.count(value); }
  int variable(mlir::Value value) const {
    auto it = variableOf.find(value);
    return it == variableOf.end() ? -1 : it->second;
  }

  /// How the parameter that `value` is a form of (`storedArgument`) is stored between its uses, if not as it is computed with.
  std::optional<Sharding> storage(mlir::Value value) const;

  /// The home of `value`; nothing is split or partial for a free one.
  Sharding home(mlir::Value value) const;
  /// What `node` needs of its value number `index`, or gives if it is a result, apart from partial operands.
  Sharding placed(const Node &node, unsigned index) const { return placed(node, index, node.axes); }
  Sharding placed(const Node &node, unsigned index, llvm::ArrayRef<AxisList> axes) const;

  const Mesh &mesh;
  mlir::func::FuncOp function;
  std::vector<Variable> variables;
  std::vector<Node> nodes;
  /// The storage of parameters that `state(params)` splits further, by variable; what layers compute with are the variables themselves.
  std::map<int, Variable> stored;
  /// Index of an op's node.
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
  /// Names of dims that a loop of the module runs over; they are never split.
  const llvm::SmallDenseSet<mlir::StringAttr> &loopDims;
  const PaddedSizes &padded;

private:
  int newVariable(mlir::Value value);
  void addDims(Variable &variable, mlir::Value value);
  void build(mlir::Block &block);
  void buildRepeat(RepeatOp op);
  void addNode(FactorOpInterface op);
  void addLink(mlir::Operation *op, llvm::ArrayRef<mlir::Value> values, mlir::Value decides);
  void finish(Node node);
  void markParamLike();
  void markUpdates();

  llvm::DenseMap<mlir::Value, int> variableOf;
};

} // namespace meshc::mtf

#endif
