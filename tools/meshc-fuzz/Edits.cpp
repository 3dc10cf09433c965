//===- Edits.cpp - wrong turns of a partitioned program --------------------===//
#include "Edits.h"
#include "Spmd/IR/Meaning.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
using Axes = SmallVector<StringAttr>;

class Editor {
public:
  Editor(ModuleOp module, std::vector<Edit> &edits) : mesh(MeshAttr::of(module)), edits(edits) {}
  /// Adds the edits of `op`, the walk's op number `index`.
  void visit(Operation *op, size_t index);

private:
  void add(const char *kind, std::string detail, std::function<bool(Operation *)> apply) {
    edits.push_back({kind, std::move(detail), index, std::move(apply)});
  }
  void editCollective(spmd::CollectiveOpInterface op);
  void editAxes(spmd::CollectiveOpInterface op);
  void editTypes(Operation *op);
  void editAttributes(Operation *op);
  void editOperands(Operation *op);
  void editVersions(Operation *op);
  /// Other types that the value might claim.
  std::vector<std::pair<std::string, NamedTensorType>> otherTypes(NamedTensorType type);

  MeshAttr mesh;
  std::vector<Edit> &edits;
  size_t index = 0;
};
} // namespace

/// A function's type follows its block's.
static void updateSignature(Operation *inside) {
  auto function = isa<func::FuncOp>(inside) ? cast<func::FuncOp>(inside) : inside->getParentOfType<func::FuncOp>();
  Block &body = function.getBody().front();
  function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
}

static std::string text(ArrayRef<StringAttr> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(axes, os, [&](StringAttr axis) { os << axis.getValue(); });
  return text;
}

static Axes axesOf(ArrayAttr over) { return llvm::to_vector(over.getAsRange<StringAttr>()); }
static ArrayAttr attributeOf(ArrayRef<StringAttr> axes) {
  return ArrayAttr::get(axes[0].getContext(), SmallVector<Attribute>(axes.begin(), axes.end()));
}

std::vector<std::pair<std::string, NamedTensorType>> Editor::otherTypes(NamedTensorType type) {
  std::vector<std::pair<std::string, NamedTensorType>> types;
  Axes used = type.splitAxes();
  llvm::append_range(used, type.getPartialAxes());
  for (StringAttr axis : mesh.getAxisNames()) {
    if (mesh.axisSize(axis) == 1)
      continue;
    std::string name = axis.getValue().str();
    if (llvm::is_contained(type.getPartialAxes(), axis)) {
      Axes rest(type.getPartialAxes());
      llvm::erase(rest, axis);
      types.push_back({"not partial over " + name, type.withPartial(rest, type.getPartialKind())});
    }
    if (llvm::is_contained(used, axis)) {
      for (DimAttr dim : type.getDims())
        if (llvm::is_contained(dim.getAxes(), axis)) {
          Axes rest(dim.getAxes());
          llvm::erase(rest, axis);
          types.push_back({"not split over " + name, type.with(dim.withAxes(rest))});
        }
      continue;
    }
    Axes more(type.getPartialAxes());
    more.push_back(axis);
    types.push_back({"partial over " + name, type.withPartial(more, type.getPartialKind())});
    for (DimAttr dim : type.getDims()) {
      Axes split(dim.getAxes());
      split.push_back(axis);
      types.push_back({"split over " + name, type.with(dim.withAxes(split))});
    }
  }
  for (DimAttr dim : type.getDims())
    if (dim.getAxes().size() > 1) {
      Axes reversed(llvm::reverse(dim.getAxes()));
      types.push_back({"axes reversed", type.with(dim.withAxes(reversed))});
    }
  if (type.isPartial())
    types.push_back({"another kind", type.withPartial(type.getPartialAxes(), type.getPartialKind() == ReductionKind::Sum ? ReductionKind::Max : ReductionKind::Sum)});
  for (Padding padding : {Padding::Undefined, Padding::Zero, Padding::One, Padding::NegInf})
    if (padding != type.getPadding() && llvm::any_of(type.getDims(), [](DimAttr dim) { return dim.isPadded(); }))
      types.push_back({("padding " + stringifyPadding(padding)).str(), type.withPadding(padding)});
  return types;
}

/// Values claim another sharding than they have; `follow`: and so do those computed from them, as far as elementwise ops go.
void Editor::editTypes(Operation *op) {
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    auto type = dyn_cast<NamedTensorType>(result.getType());
    if (!type)
      continue;
    for (const auto &[detail, other] : otherTypes(type))
      for (bool follow : {false, true}) {
        NamedTensorType claimed = other;
        add(follow ? "types from a value on" : "the type of a value", detail, [i = i, claimed, follow](Operation *op) {
          Value first = op->getResult(i);
          NamedTensorType before = tensorType(first);
          SmallVector<Value> list = {first};
          first.setType(claimed);
          for (size_t k = 0; follow && k < list.size(); ++k)
            for (Operation *user : list[k].getUsers())
              if (user->hasTrait<Elementwise>() || isa<TapOp>(user))
                for (Value result : user->getResults())
                  if (NamedTensorType type = tensorType(result); type.getDims() == before.getDims() && type.getPartialAxes() == before.getPartialAxes()) {
                    result.setType(claimed.withElementType(type.getElementType()).withPadding(type.getPadding()));
                    list.push_back(result);
                  }
          updateSignature(op);
          return !follow || list.size() > 1;
        });
      }
  }
}

/// All that a collective is over: other axes, in another order, more or fewer.
void Editor::editAxes(spmd::CollectiveOpInterface op) {
  auto change = [&](const Axes &axes) {
    if (!axes.empty())
      add("other axes", text(axes), [over = attributeOf(axes)](Operation *op) {
        op->setAttr("over", over);
        return true;
      });
  };
  Axes axes = axesOf(op.getOver());
  change(Axes(llvm::reverse(axes)));
  for (StringAttr axis : axes) {
    Axes fewer = axes;
    llvm::erase(fewer, axis);
    change(fewer);
    for (StringAttr other : mesh.getAxisNames())
      if (!llvm::is_contained(axes, other)) {
        Axes exchanged = axes;
        *llvm::find(exchanged, axis) = other;
        change(exchanged);
      }
  }
  for (StringAttr other : mesh.getAxisNames())
    if (!llvm::is_contained(axes, other)) {
      Axes more = axes;
      more.push_back(other);
      change(more);
    }
}

void Editor::editCollective(spmd::CollectiveOpInterface op) {
  editAxes(op);
  add("dropped", "its operand takes its type", [](Operation *op) {
    Value input = op->getOperand(0);
    input.setType(op->getResult(0).getType());
    op->getResult(0).replaceAllUsesWith(input);
    updateSignature(op);
    op->erase();
    return true;
  });
  add("dropped", "what follows takes its operand", [](Operation *op) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    updateSignature(op);
    op->erase();
    return true;
  });
  add("twice", "its result once more", [](Operation *op) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *again = builder.clone(*op);
    op->getResult(0).replaceAllUsesWith(again->getResult(0));
    again->setOperand(0, op->getResult(0));
    return true;
  });
  add("twice", "once before the op that makes its operand", [](Operation *op) {
    Operation *producer = op->getOperand(0).getDefiningOp();
    if (!producer || producer->getNumOperands() == 0)
      return false;
    for (OpOperand &operand : producer->getOpOperands())
      if (auto type = dyn_cast<NamedTensorType>(operand.get().getType()); type && type.isPartial() && type.getDims() == tensorType(op->getOperand(0)).getDims()) {
        OpBuilder builder(producer);
        Operation *earlier = builder.clone(*op);
        earlier->setOperand(0, operand.get());
        operand.set(earlier->getResult(0));
        return true;
      }
    return false;
  });
  add("exchanged", "with the next one", [](Operation *op) {
    Operation *next = op->getNextNode();
    while (next && !isa<spmd::CollectiveOpInterface>(next))
      next = next->getNextNode();
    if (!next)
      return false;
    // Each takes the other's operand.
    Value mine = op->getOperand(0), others = next->getOperand(0);
    if (others == op->getResult(0))
      return false;
    if (Operation *producer = others.getDefiningOp(); producer && producer->getBlock() == op->getBlock() && op->isBeforeInBlock(producer))
      return false;
    op->setOperand(0, others);
    next->setOperand(0, mine);
    return true;
  });
  add("moved", "behind the next one", [](Operation *op) {
    Operation *next = op->getNextNode();
    while (next && !isa<spmd::CollectiveOpInterface>(next))
      next = next->getNextNode();
    if (!next)
      return false;
    for (Operation *user : op->getUsers())
      if (Operation *here = op->getBlock()->findAncestorOpInBlock(*user); here && !next->isBeforeInBlock(here))
        return false;
    op->moveAfter(next);
    return true;
  });
  for (StringRef name : {"dim", "from", "to"})
    if (auto current = op->getAttrOfType<StringAttr>(name))
      for (DimAttr dim : op.getInput().getType().getDims())
        if (dim.getName() != current)
          add("another dim", dim.getName().getValue().str(), [name = name.str(), other = dim.getName()](Operation *op) {
            op->setAttr(name, other);
            return true;
          });
}

/// Constants, counts, reductions: what the program computes.
void Editor::editAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getAttrDictionary()) {
    Attribute other;
    MLIRContext *context = op->getContext();
    if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
      other = number.getType().isInteger(1) ? IntegerAttr::get(number.getType(), 1 - number.getValue().getZExtValue())
                                            : IntegerAttr::get(number.getType(), number.getValue() + 1);
    else if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
      other = FloatAttr::get(number.getType(), number.getValueAsDouble() * 2 + (number.getValueAsDouble() == 0));
    else if (auto kind = dyn_cast<ReductionKindAttr>(attribute.getValue()))
      other = ReductionKindAttr::get(context, kind.getValue() == ReductionKind::Sum ? ReductionKind::Max : ReductionKind::Sum);
    else if (auto predicate = dyn_cast<PredicateAttr>(attribute.getValue()))
      other = PredicateAttr::get(context, predicate.getValue() == Predicate::Le ? Predicate::Gt : Predicate::Le);
    else if (isa<UnitAttr>(attribute.getValue()))
      other = UnitAttr();
    else
      continue;
    add("another factor", attribute.getName().getValue().str(), [name = attribute.getName(), other](Operation *op) {
      if (other)
        op->setAttr(name, other);
      else
        op->removeAttr(name);
      return true;
    });
  }
}

void Editor::editOperands(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    add("another operand", "the nearest of its type", [i = i](Operation *op) {
      for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
        for (Value result : before->getResults())
          if (result.getType() == op->getOperand(i).getType() && result != op->getOperand(i)) {
            op->setOperand(i, result);
            return true;
          }
      return false;
    });
    if (op->getNumResults() != 0 && !isa<TapOp, spmd::CollectiveOpInterface>(op))
      add("left out", "an operand takes its place", [i = i](Operation *op) {
        if (op->getOperand(i).getType() != op->getResult(0).getType())
          return false;
        op->getResult(0).replaceAllUsesWith(op->getOperand(i));
        return true;
      });
  }
}

/// One rank gets a version of its own in which a collective is missing, or two are exchanged.
void Editor::editVersions(Operation *op) {
  for (bool drop : {false, true})
    add("on one rank", drop ? "dropped" : "exchanged with the next", [drop, ranks = mesh.numRanks()](Operation *op) {
      auto function = op->getParentOfType<func::FuncOp>();
      Builder b(op->getContext());
      func::FuncOp other = function.clone();
      function->getParentOfType<ModuleOp>().push_back(other);
      SmallVector<int64_t> rest;
      for (int64_t rank = 0; rank + 1 < ranks; ++rank)
        rest.push_back(rank);
      for (func::FuncOp version : {function, other}) {
        version->setAttr("spmd.program", function.getSymNameAttr());
        version->setAttr("spmd.ranks", b.getDenseI64ArrayAttr(version == function ? ArrayRef<int64_t>(rest) : ArrayRef(ranks - 1)));
      }
      other.setSymName((function.getSymName() + ".last").str());
      other.setPrivate();
      if (drop) {
        // The version computes the same without the collective only if that had no use.
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
        return true;
      }
      Operation *next = op->getNextNode();
      while (next && !isa<spmd::CollectiveOpInterface>(next))
        next = next->getNextNode();
      if (!next || !cast<spmd::CollectiveOpInterface>(next).communicates() || !cast<spmd::CollectiveOpInterface>(op).communicates())
        return false;
      for (Operation *user : op->getUsers())
        if (Operation *here = op->getBlock()->findAncestorOpInBlock(*user); here && !next->isBeforeInBlock(here))
          return false;
      op->moveAfter(next);
      return true;
    });
}

void Editor::visit(Operation *op, size_t number) {
  index = number;
  editTypes(op);
  editOperands(op);
  if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op)) {
    editCollective(collective);
    if (collective.communicates())
      editVersions(op);
  }
  if (isa<FillPaddingOp>(op))
    add("dropped", "a fill of padding", [](Operation *op) {
      op->getOperand(0).setType(op->getResult(0).getType());
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      updateSignature(op);
      op->erase();
      return true;
    });
  editAttributes(op);
}

std::vector<Edit> meshc::editsOf(ModuleOp program) {
  std::vector<Edit> edits;
  Editor editor(program, edits);
  size_t number = 0;
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (function && !function.isPrivate() && !isa<func::FuncOp>(op))
      editor.visit(op, number);
    ++number;
  });
  return edits;
}
