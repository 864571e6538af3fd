#include "diagram/streamability.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/contains.h"

namespace tilescope {
namespace {

// Goes through a region along one axis and sorts what its arrays are to a stream.
class CascadeWalk {
 public:
  CascadeWalk(const Primitives& primitives, const Region& region, AxisId axis)
      : primitives_(primitives), region_(region), axis_(axis) {
    cascade_.axis = axis_name(axis);
  }

  std::variant<Cascade, Refusal> run() {
    for (const int number : region_.primitives) {
      visit(primitives_.list[static_cast<std::size_t>(number)]);
      if (!refusal_.reason.empty()) return refusal_;
    }
    for (const ArrayId result : region_.results) {
      add_result(result);
      if (!refusal_.reason.empty()) return refusal_;
    }
    return cascade_;
  }

  bool hides_a_fold() const { return hidden_; }  // a result depends on the stream through a fold over another axis

 private:
  std::string axis_name(AxisId axis) const { return primitives_.diagram.axes[index(axis)].name; }
  const std::string& name(ArrayId id) const { return primitives_.array(id).name; }
  bool carries(ArrayId id) const { return primitives_.array(id).has(axis_); }
  bool depends(ArrayId id) const { return dependent_.contains(id); }

  std::string shape(ArrayId id) const {
    std::string text;
    for (const AxisId axis : primitives_.array(id).axes) text += axis_name(axis) + " ";
    return text;
  }

  void refuse(ArrayId id, const std::string& reason) { refusal_ = {name(id), reason}; }

  // A name with one element per position of the axis, as far as the stream is concerned.
  void stream(ArrayId id) {
    if (contains(cascade_.streamed, name(id))) return;
    cascade_.streamed.push_back(name(id));
    const auto& guard = primitives_.diagram.guard;
    if (guard && primitives_.array(id).has(guard->query) && primitives_.array(id).has(guard->key))
      cascade_.masked.push_back(name(id));
  }

  Expression written_out(const Primitive& primitive) {
    for (const ArrayId input : primitive.inputs)
      if (carries(input) && !written_.contains(name(input))) stream(input);
    return substitute(primitive.body, written_);
  }

  // The fold skips positions of an input that has both axes of the guard; written out, the body has no such input left.
  bool loses_its_mask(const Primitive& primitive) {
    const auto& guard = primitives_.diagram.guard;
    const auto masked = [&](ArrayId id) {
      return guard && primitives_.array(id).has(guard->query) && primitives_.array(id).has(guard->key);
    };
    if (std::none_of(primitive.inputs.begin(), primitive.inputs.end(), masked)) return false;
    const std::vector<std::string> names = written_out(primitive).arrays();
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& read) { return masked(*primitives_.diagram.find_array(read)); });
  }

  void visit(const Primitive& primitive) {
    const ArrayId out = primitive.output;
    const bool over = primitive.folds(axis_);
    const bool dependent =
        std::any_of(primitive.inputs.begin(), primitive.inputs.end(), [&](ArrayId id) { return depends(id); });
    for (const ArrayId input : primitive.inputs)
      if (opaque_.contains(input) && (over || carries(out)))
        return refuse(out, "'" + name(input) +
                               "' is complete only after a fold over another axis of what the stream over " +
                               cascade_.axis + " yields");
    if (over && loses_its_mask(primitive))
      return refuse(out, "'" + name(out) + "' folds what the mask leaves out of '" + name(primitive.inputs.front()) +
                             "', but nothing that the stream over " + cascade_.axis + " reads is masked");
    if (over) {
      cascade_.folds.push_back({name(out), *primitive.fold, written_out(primitive), shape(out)});
      dependent_.insert(out);
    } else if (!dependent) {
      return;  // a map before the stream, or constant along it
    } else if (primitive.fold && carries(out)) {
      refuse(out, "'" + name(out) + "' has an entry per " + cascade_.axis +
                      " and is folded over another axis from what a fold over all of " + cascade_.axis + " yields");
    } else {
      dependent_.insert(out);
      if (primitive.fold) opaque_.insert(out);
      else written_.emplace(name(out), written_out(primitive));
      if (!primitive.fold && std::any_of(primitive.inputs.begin(), primitive.inputs.end(),
                                         [&](ArrayId id) { return opaque_.contains(id); }))
        opaque_.insert(out);
    }
  }

  void add_result(ArrayId id) {
    if (!depends(id)) return;  // results of tiles are concatenated
    if (carries(id))
      return refuse(id, "'" + name(id) + "' has an entry per " + cascade_.axis +
                            " that depends on a fold over all of " + cascade_.axis + ", so one pass cannot yield it");
    if (opaque_.contains(id)) hidden_ = true;  // follows from the finished state
    else if (const auto known = written_.find(name(id)); known != written_.end())
      cascade_.outputs.push_back({name(id), known->second, shape(id)});
    else cascade_.outputs.push_back({name(id), Expression::array(name(id)), shape(id)});
  }

  const Primitives& primitives_;
  const Region& region_;
  AxisId axis_;
  Cascade cascade_;
  Refusal refusal_;
  std::set<ArrayId> dependent_, opaque_;
  std::map<std::string, Expression, std::less<>> written_;
  bool hidden_ = false;
};

}  // namespace

std::variant<Cascade, Refusal> cascade_along(const Primitives& primitives, const Region& region, AxisId axis) {
  return CascadeWalk(primitives, region, axis).run();
}

bool mergeable(const Primitives& primitives, const Region& region, AxisId axis) {
  CascadeWalk walk(primitives, region, axis);
  return std::holds_alternative<Cascade>(walk.run()) && !walk.hides_a_fold();
}

Streamability streamability(const Primitives& primitives, const Region& region, AxisId axis) {
  bool seen = false, folded = false;
  for (const int number : region.primitives) {
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
    const std::vector<AxisId> axes = primitives.axes_of(primitive);
    seen = seen || contains(axes, axis);
    folded = folded || primitive.folds(axis);
  }
  if (!seen) return {};
  if (!folded) return {.kind = Streamability::Kind::woven};
  const auto cascade = cascade_along(primitives, region, axis);
  const auto refused = [](const Refusal& refusal) {
    return Streamability{.kind = Streamability::Kind::refused, .reason = refusal.reason};
  };
  if (const auto* refusal = std::get_if<Refusal>(&cascade)) return refused(*refusal);
  auto witness = derive_witness(std::get<Cascade>(cascade));
  if (const auto* refusal = std::get_if<Refusal>(&witness)) return refused(*refusal);
  for (const StateVariable& variable : std::get<Witness>(witness).state)
    if (!primitives.diagram.find_array(variable.fold))
      return refused({variable.fold, "every step would need the number of positions of " +
                                         primitives.diagram.axes[index(axis)].name + " seen so far"});
  return {.kind = Streamability::Kind::folded, .witness = std::get<Witness>(std::move(witness))};
}

}  // namespace tilescope
