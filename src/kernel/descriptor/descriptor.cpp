#include "kernel/descriptor/descriptor.h"

#include <optional>
#include <tuple>

#include "base/contains.h"
#include "kernel/descriptor/kernel_schedule.h"
#include "kernel/descriptor/read_code.h"
#include "kernel/descriptor/read_fields.h"

namespace tilescope {
namespace reading {
namespace {

std::vector<std::string> array_names(const Diagram& diagram) {
  std::vector<std::string> names;
  for (const Array& array : diagram.arrays) names.push_back(array.name);
  return names;
}

}  // namespace

void check_array(const Node& node, const std::string& name, const Diagram& diagram) {
  if (!diagram.find_array(name))
    node.report(fmt::format("'{}' is not an array of diagram '{}'{}", name, diagram.name,
                            did_you_mean(name, array_names(diagram))));
}

std::vector<std::string> read_array_names(const Node& list, const Diagram& diagram) {
  std::vector<std::string> names;
  for (const Node& item : list.items()) {
    const std::string name = item.text();
    if (name.empty()) continue;
    check_array(item, name, diagram);
    add_once(names, name, item);
  }
  return names;
}

namespace {

// The formats for all arrays, each once.
void add_dtypes(KernelDescriptor& kernel) {
  for (const FormatChoice& choice : kernel.formats)
    if (!choice.empty() && !contains(kernel.dtypes, choice.front().second))
      kernel.dtypes.push_back(choice.front().second);
}

// The summary of the kernel's machine code: `code` of the descriptor, or the file beside it.
struct CodeSource {
  std::optional<Document> file;
  std::optional<Node> root;
  KernelCode code;
  bool variants() const { return code.variants_stated || !code.variants.empty(); }
};

CodeSource code_source(const Document& document, const KernelDescriptor& kernel) {
  CodeSource source;
  std::error_code ignored;
  const std::filesystem::path file = code_file_of(kernel.file);
  if (const auto own = document.root().find("code")) {
    source.root = *own;
  } else if (std::filesystem::is_regular_file(file, ignored)) {
    source.file = Document::load(file);
    source.file->expect_schema("tilescope/code/1");
    source.root = source.file->root();
  }
  if (source.root) source.code = read_code(*source.root);
  return source;
}

// What built instances are for, where the descriptor leaves it to the summary of their machine code.
void take_support(const Node& root, const KernelCode& code, const std::vector<KernelVariant>& instances,
                  KernelDescriptor& kernel) {
  for (const KernelVariant& variant : instances) {
    if (!root.find("head_dims") && !contains(kernel.head_dims, variant.head_dim))
      kernel.head_dims.push_back(variant.head_dim);
    if (root.find("dtypes")) continue;
    for (const FormatChoice& choice : variant.formats)
      if (!contains(kernel.formats, choice)) kernel.formats.push_back(choice);
  }
  if (!root.find("dtypes")) add_dtypes(kernel);
  if (kernel.least_compute_capability == 0 && !code.compute_capability.empty())
    kernel.least_compute_capability = std::stod(code.compute_capability);
}

void read_support(const Node& root, const Diagram& diagram, bool summarised, KernelDescriptor& kernel) {
  if (!summarised || root.find("dtypes")) kernel.formats = read_formats(root["dtypes"], diagram);
  add_dtypes(kernel);
  if (!summarised || root.find("head_dims"))
    for (const Node& item : root["head_dims"].items()) add_once(kernel.head_dims, item.integer(1, 4096), item);
  const Node mask_list = root["masks"];
  for (const Node& item : mask_list.items()) {
    if (const auto mask = find_kind<MaskKind>(item)) add_once(kernel.masks, *mask, item);
  }
  if (mask_list.is_list() && mask_list.items().empty())  // any
    for (const MaskKindRow& row : EnumTable<MaskKind>::rows) kernel.masks.push_back(row.value);
  const auto limits = root.find("limits");
  if (!limits) return;
  limits->only({"head_dim", "q_len", "kv_len", "compute_capability"});
  if (const auto head_dim = limits->find("head_dim")) kernel.largest_head_dim = head_dim->integer(1, 4096);
  if (const auto q_len = limits->find("q_len")) kernel.largest_q_len = q_len->integer(1, std::int64_t{1} << 40);
  if (const auto kv_len = limits->find("kv_len")) kernel.largest_kv_len = kv_len->integer(1, std::int64_t{1} << 40);
  if (const auto capability = limits->find("compute_capability"))
    kernel.least_compute_capability = capability->number(1, 99);
}

// sizes: {pages: {of: kv_len, per: 64}}
void read_sizes(const Node& map, const Diagram& diagram, KernelDescriptor& kernel) {
  std::vector<std::string> known;
  for (const Axis& axis : diagram.axes)
    if (!axis.extent && !axis.chunks_of) known.push_back(axis.size);
  for (const auto& [name, node] : map.entries()) {
    node.only({"of", "per"});
    if (!contains(known, name))
      node.report(fmt::format("'{}' is not a size of diagram '{}'s own{}", name, diagram.name,
                              known.empty() ? "" : did_you_mean(name, known)));
    kernel.sizes[name] = {find_kind<Extent>(node["of"]).value_or(Extent::kv_len), node["per"].integer(1, 1 << 20)};
  }
}

// What the host's code lays out in memory.
void read_memory(const Node& code, const Diagram& diagram, KernelDescriptor& kernel) {
  if (const auto sizes = code.find("sizes")) read_sizes(*sizes, diagram, kernel);
  if (const auto padded = code.find("padded_rows"))
    for (const auto& [array, multiple] : padded->entries()) {
      check_array(multiple, array, diagram);
      kernel.padded_rows[array] = multiple.integer(1, 4096);
    }
}

// layout: [batch, length, heads, dim]; inputs of a token side by side: [batch, length, arrays, heads, dim]
void read_array_layout(const Node& list, KernelDescriptor& kernel) {
  using D = LayoutDimension;
  std::vector<D> order;
  const std::vector<std::string> names = kind_names<D>();
  bool known = true;
  for (const Node& item : list.items()) {
    known = is_one_of(item, names) && known;
    order.push_back(read_kind<D>(item));
  }
  if (!known) return;
  const auto place = [&](D dimension) { return std::find(order.begin(), order.end(), dimension) - order.begin(); };
  const auto size = std::ssize(order);
  const bool packed = place(D::arrays) < size;
  const bool each = size == (packed ? 5 : 4) && std::max({place(D::batch), place(D::length), place(D::heads)}) < size;
  const bool side_by_side = !packed || (place(D::length) < place(D::arrays) && place(D::arrays) + 1 == place(D::heads));
  if (each && side_by_side && order.back() == D::dim) kernel.layout = std::move(order);
  else
    list.report(
        "expected batch, length, heads and dim, each once and dim last; arrays, where the inputs of a token lie side "
        "by "
        "side, stands behind length and before heads");
}

void read_layout(const Node& root, const Schedule& schedule, KernelDescriptor& kernel) {
  if (const auto layout = root.find("layout")) read_array_layout(*layout, kernel);
  if (const auto packed = root.find("packed_rows")) kernel.packed_rows = packed->boolean();
  if (const auto whole = root.find("whole_tile_parts")) kernel.whole_tile_parts = whole->boolean();
  std::vector<std::string> parameters;
  for (const Parameter& parameter : schedule.parameters) parameters.push_back(parameter.name);
  if (const auto free = root.find("free"))
    for (const Node& item : free->items()) {
      const std::string name = item.one_of(parameters);
      if (is_one_of(item, parameters)) add_once(kernel.free, name, item);
    }
}

// The schedule's islands in its order, each implemented once, or once for any number of steps.
void order_islands(const Node& list, const Schedule& schedule, KernelDescriptor& kernel) {
  std::vector<IslandImplementation> ordered;
  for (const Island& island : schedule.islands) {
    std::vector<IslandImplementation> found;
    for (const IslandImplementation& candidate : kernel.islands)
      if (candidate.name == island.name) found.push_back(candidate);
    const auto fewer = [](const IslandImplementation& a, const IslandImplementation& b) {
      return a.steps.least < b.steps.least;
    };
    std::stable_sort(found.begin(), found.end(), fewer);
    std::int64_t next = 1;  // least steps that none found so far runs for; 0: all are served
    for (const IslandImplementation& each : found) {
      if (next == 0 || each.steps.least != next || (each.steps.most != 0 && each.steps.most < next)) next = -1;
      if (next < 0) break;
      next = each.steps.most == 0 ? 0 : each.steps.most + 1;
    }
    if (found.size() != 1 && next != 0)
      list.report(fmt::format(
          "island '{}' of schedule '{}' must be described once, or once for any number of 'steps', found {} times",
          island.name, schedule.name, found.size()));
    else if (next != 0)
      list.report(fmt::format(
          "island '{}' of schedule '{}' is described for some numbers of steps only; describe it for the others too",
          island.name, schedule.name));
    else {
      ordered.push_back(found.front());
      kernel.others.insert(kernel.others.end(), found.begin() + 1, found.end());
    }
  }
  kernel.islands = std::move(ordered);
}

// Islands as the descriptor states them, with what code tells of each; several where it tells of several numbers of
// steps.
void add_found(const CodeSource& source, const Schedule& schedule, KernelDescriptor& kernel) {
  std::vector<std::string> names;
  for (const IslandImplementation& island : kernel.islands)
    if (!contains(names, island.name)) names.push_back(island.name);
  std::vector<std::pair<std::string, Node>> facts;
  for (const Node& each : source.code.facts) facts.emplace_back(each["launch"].one_of(names), each);
  std::vector<IslandImplementation> all;
  for (const IslandImplementation& island : kernel.islands) {
    const std::size_t before = all.size();
    for (const auto& [launch, each] : facts)
      if (launch == island.name) {
        all.push_back(island);
        read_found(each, schedule, all.back());
      }
    if (all.size() == before) all.push_back(island);
  }
  kernel.islands = std::move(all);
}

void read_variants(const Document& document, const std::vector<std::pair<Node, InstanceCode>>& variants,
                   const Schedule& schedule, bool of_code, KernelDescriptor& kernel) {
  const std::vector<FormatChoice> formats =
      document.clean() ? kernel.formats : std::vector<FormatChoice>{};  // else some may be missing
  for (const auto& [node, code] : variants) {
    KernelVariant variant = read_variant(node, schedule, formats, of_code);
    variant.code = code;
    if (document.clean() && variant.consumer_warps > variant.warps)
      node["consumer_warps"].report(
          fmt::format("are part of the block's {} warps, found {}", variant.warps, variant.consumer_warps));
    if (document.clean()) check_variant(node, schedule, kernel, variant);
    const auto same = [&](const KernelVariant& v) {
      return std::tie(v.head_dim, v.v_head_dim, v.tile_q, v.tile_kv, v.other_tiles, v.warps, v.stages) ==
                 std::tie(variant.head_dim, variant.v_head_dim, variant.tile_q, variant.tile_kv, variant.other_tiles,
                          variant.warps, variant.stages) &&
             (v.formats.empty() || variant.formats.empty() ||
              std::find_first_of(v.formats.begin(), v.formats.end(), variant.formats.begin(), variant.formats.end()) !=
                  v.formats.end());
    };
    if (document.clean() && std::any_of(kernel.variants.begin(), kernel.variants.end(), same))
      node.report(fmt::format("tile {}x{} with {} warps at head_dim {} is listed twice; remove one", variant.tile_q,
                              variant.tile_kv, variant.warps, variant.head_dim));
    kernel.variants.push_back(variant);
  }
}

// Gives typed variants the instructions of the first instance in the summary that is built for their tile and formats.
void add_code(const Node& summary, const KernelCode& code, const Schedule& schedule, KernelDescriptor& kernel) {
  if (code.variants.empty()) return;  // of launches without products alone
  for (const auto& [node, instructions] : code.variants) {
    const KernelVariant of = read_variant(node, schedule, kernel.formats, true);
    for (KernelVariant& variant : kernel.variants) {
      const bool same = std::tie(variant.head_dim, variant.tile_q, variant.tile_kv, variant.warps) ==
                            std::tie(of.head_dim, of.tile_q, of.tile_kv, of.warps) &&
                        (variant.stages == 0 || of.stages == 0 || variant.stages == of.stages);
      const bool formats =
          variant.formats.empty() || std::find_first_of(variant.formats.begin(), variant.formats.end(),
                                                        of.formats.begin(), of.formats.end()) != variant.formats.end();
      if (same && formats && variant.code.warps == 0) variant.code = instructions;
    }
  }
  for (const KernelVariant& variant : kernel.variants)
    if (variant.code.warps == 0)
      summary["kernels"].report(fmt::format("no instance has the tile {}x{} with {} warps at head_dim {}",
                                            variant.tile_q, variant.tile_kv, variant.warps, variant.head_dim));
}

// From the descriptor, or from the summary of the machine code, which also has their instructions.
void read_variants(const Document& document, const CodeSource& source, const Schedule& schedule,
                   KernelDescriptor& kernel) {
  const auto typed = document.root().find("variants");
  const bool stated = !typed && source.code.variants_stated;
  const Document& place = source.file ? *source.file : document;
  if (!typed && !stated && source.variants()) {
    read_variants(place, source.code.variants, schedule, true, kernel);
    take_support(document.root(), source.code, kernel.variants, kernel);
  } else {
    std::vector<std::pair<Node, InstanceCode>> variants;
    const std::vector<Node> nodes = stated ? source.code.stated : document.root()["variants"].items();
    for (const Node& node : nodes) variants.emplace_back(node, InstanceCode{});
    read_variants(stated ? place : document, variants, schedule, stated, kernel);
    if (stated && document.clean()) {
      std::vector<KernelVariant> instances;
      for (const auto& [node, code] : source.code.variants)
        instances.push_back(read_variant(node, schedule, kernel.formats, true));
      take_support(document.root(), source.code, instances, kernel);
    }
    if (source.root && document.clean()) add_code(*source.root, source.code, schedule, kernel);
  }
  if (document.clean() && !kernel.variants.empty()) check_head_dims(document.root(), kernel);
  for (const LaunchCode& launch : source.code.launches)
    for (const StepsLoop& loop : launch.code.loops) check_array(*source.root, loop.array, schedule.diagram);
  kernel.launch_codes = source.code.launches;
  kernel.program = source.code.program;
}

}  // namespace
}  // namespace reading

const ProductImplementation* IslandImplementation::find_product(std::string_view op) const {
  for (const ProductImplementation& product : products)
    if (product.op == op) return &product;
  return nullptr;
}

bool KernelVariant::holds(const std::string& array) const { return contains(registers_hold, array); }
bool KernelVariant::reads_through_l1(const std::string& array) const { return contains(l1_reads, array); }

std::int64_t KernelVariant::tile(std::string_view parameter) const {
  if (parameter == "q") return tile_q;
  if (parameter == "kv") return tile_kv;
  const auto found = other_tiles.find(std::string(parameter));
  return found == other_tiles.end() ? 0 : found->second;
}

bool KernelDescriptor::is_free(std::string_view parameter) const { return contains(free, parameter); }

KernelDescriptor load_descriptor(const std::filesystem::path& file, const std::filesystem::path& models_directory) {
  const Document document = Document::load(file);
  document.expect_schema("tilescope/kernel/1");
  const Node root = document.root();
  reading::refuse_found(root, {"sizes", "padded_rows", "host_splits"}, "'code'");
  root.only({"schema",  "kernel",   "schedule", "diagram",     "summary",          "dtypes",     "head_dims",
             "masks",   "limits",   "shapes",   "packed_rows", "whole_tile_parts", "layout",     "free",
             "islands", "variants", "code",     "sizes",       "padded_rows",      "host_splits"});
  KernelDescriptor kernel;
  kernel.file = file.string();
  kernel.name = root["kernel"].text();
  kernel.summary = root["summary"].text();
  kernel.schedule_name = root["schedule"].one_of(shipped_names(models_directory / "schedules"));
  if (const auto diagram = root.find("diagram"))
    kernel.diagram_name = diagram->one_of(shipped_names(models_directory / "diagrams"));
  if (!document.clean()) document.finish();
  const std::shared_ptr<const Schedule> shared = schedule_of_kernel(kernel, models_directory);
  const Schedule& schedule = *shared;
  const reading::CodeSource source = reading::code_source(document, kernel);
  if (source.root) reading::read_memory(*source.root, schedule.diagram, kernel);
  const bool summarised = !source.code.variants.empty() && !root.find("variants");
  reading::read_support(root, schedule.diagram, summarised, kernel);
  reading::read_shapes(root, source.root ? &*source.root : nullptr, kernel);
  reading::read_layout(root, schedule, kernel);
  for (const Node& node : root["islands"].items()) kernel.islands.push_back(reading::read_island(node, schedule));
  if (document.clean()) reading::add_found(source, schedule, kernel);
  if (document.clean())
    reading::order_islands(root["islands"], schedule, kernel);  // after a finding, names may be placeholders
  reading::read_variants(document, source, schedule, kernel);
  if (source.file) source.file->finish();
  document.finish();
  return kernel;
}

}  // namespace tilescope
