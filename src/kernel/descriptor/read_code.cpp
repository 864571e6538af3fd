// Variants and their instructions from the summary of a kernel's machine code.
#include "kernel/descriptor/read_code.h"

#include "kernel/descriptor/read_fields.h"

namespace tilescope::reading {
namespace {

PassCounts read_counts(const Node& node) {
  PassCounts counts{};
  node.only(kind_names<CodeCount>());
  for (const auto& [key, number] : node.entries())
    if (const auto count = parse_kind<CodeCount>(key))
      counts[static_cast<std::size_t>(*count)] = number.integer(0, 1 << 30);
  return counts;
}

StepsLoop read_loop(const Node& node) {
  node.only({"array", "apart", "beside", "group", "some", "around_left", "around_groups", "left", "of_group"});
  StepsLoop loop{.array = node["array"].text(),
                 .apart = node["apart"].integer(1, 4096),
                 .beside = node["beside"].integer(1, 4096),
                 .group = node["group"].integer(1, 1024)};
  for (const auto& [key, counts] : {std::pair{"some", &loop.some},
                                    {"around_left", &loop.around_left},
                                    {"around_groups", &loop.around_groups},
                                    {"left", &loop.left},
                                    {"of_group", &loop.of_group}})
    if (const auto found = node.find(key)) *counts = read_counts(*found);
  return loop;
}

InstanceCode read_passes(const Node& kernel) {
  InstanceCode code;
  code.warps = kernel["warps"].integer(1, 64);
  if (const auto symbol = kernel.find("kernel")) code.symbol = symbol->text();
  const auto integer = [&](const char* key, std::int64_t most, std::int64_t& value) {
    if (const auto found = kernel.find(key)) value = found->integer(1, most);
  };
  integer("registers", 255, code.registers), integer("lead", 64, code.lead), integer("mask_keys", 4096, code.mask_keys),
      integer("first_warps", 64, code.first_warps);
  integer("first_lanes", 32, code.first_lanes), integer("mask_warps", 64, code.mask_warps);
  integer("packet", 4096, code.packet), integer("packets", 1 << 20, code.packets);
  if (const auto round = kernel.find("round"))
    for (const auto& [axis, terms] : round->entries())
      code.round_axis = axis, code.round_terms = terms.integer(1, 4096);
  for (const auto& [name, counts] : kernel["passes"].entries()) {
    const auto pass = parse_kind<CodePass>(name);
    if (pass) code.passes[static_cast<std::size_t>(*pass)] = read_counts(counts);
    else
      counts.report(fmt::format("no piece of code is called '{}'{}", name, did_you_mean(name, kind_names<CodePass>())));
  }
  if (const auto loops = kernel.find("loops"))
    for (const Node& loop : loops->items()) code.loops.push_back(read_loop(loop));
  return code;
}

LaunchCode read_launch(const Node& kernel) {
  LaunchCode launch;
  launch.launch = kernel["launch"].text();
  if (const auto columns = kernel.find("columns")) launch.columns = columns->integer(1, 1 << 20);
  if (const auto steps = kernel.find("steps")) {
    steps->only({"least", "most"});
    if (const auto least = steps->find("least")) launch.least_steps = least->integer(1, 1 << 20);
    if (const auto most = steps->find("most")) launch.most_steps = most->integer(1, 1 << 20);
  }
  if (const auto tile = kernel.find("of")) {
    tile->only({"head_dim", "tile_q", "tile_kv", "warps", "stages"});
    for (const auto& [key, value] : {std::pair{"head_dim", &launch.head_dim},
                                     {"tile_q", &launch.tile_q},
                                     {"tile_kv", &launch.tile_kv},
                                     {"warps", &launch.warps},
                                     {"stages", &launch.stages}})
      if (const auto found = tile->find(key)) *value = found->integer(1, 1 << 20);
  }
  if (const auto formats = kernel.find("dtypes"))
    for (const Node& format : formats->items()) {
      if (const auto dtype = parse_dtype(format.text())) launch.dtypes.push_back(*dtype);
      else format.report(fmt::format("'{}' is not a dtype", format.text()));
    }
  if (const auto masked = kernel.find("masked")) launch.masked = masked->boolean();
  if (const auto whole = kernel.find("whole")) launch.whole = whole->boolean();
  if (const auto sizes = kernel.find("size"))
    for (const auto& [axis, size] : sizes->entries()) launch.axis = axis, launch.size = size.integer(1, 1 << 20);
  launch.code = read_passes(kernel);
  return launch;
}

// Where the values of facts and variants come from: nothing is computed from it.
void check_origins(const Node& origins) {
  static const std::vector<std::string> words{"elf", "code", "launch", "tensor map", "counted", "given"};
  for (const auto& [part, values] : origins.entries())
    for (const auto& [key, origin] : values.entries())
      if (!contains(words, origin.text()))
        origin.report(
            fmt::format("'{}' is not where a value comes from{}", origin.text(), did_you_mean(origin.text(), words)));
}

}  // namespace

std::filesystem::path code_file_of(const std::filesystem::path& descriptor) {
  std::string name = descriptor.filename().string();
  constexpr std::string_view ending = "kernel.yaml";
  if (!name.ends_with(ending)) return {};
  return descriptor.parent_path() / (name.substr(0, name.size() - ending.size()) + "code.json");
}

KernelCode read_code(const Node& root) {
  root.only({"schema",        "file",           "compiler", "function",    "tile",      "before",      "mask_rows",
             "source_sha256", "kernels",        "dtypes",   "lead",        "mask_keys", "first_warps", "first_lanes",
             "first_loop",    "rescales_later", "one_mask", "paged",       "launches",  "nests",       "facts",
             "variants",      "host_splits",    "sizes",    "padded_rows", "steps",     "program",     "from"});
  if (const auto origins = root.find("from")) check_origins(*origins);
  const auto first = root.find("before");
  const std::int64_t before = first ? first->integer(0, 1) : 0;
  const auto rows = root.find("mask_rows");
  const std::int64_t mask_rows = rows ? rows->integer(1, 1024) : 0;
  const auto one = root.find("one_mask");
  const bool one_mask = one && one->boolean();
  KernelCode found;
  if (const auto program = root.find("program")) found.program = program->text();
  if (const auto facts = root.find("facts"))
    for (const Node& launch : facts->items()) found.facts.push_back(launch);
  if (const auto variants = root.find("variants")) {
    found.variants_stated = true;
    for (const Node& variant : variants->items()) found.stated.push_back(variant);
  }
  const auto kernels = root.find("kernels");
  if (!kernels) return found;
  if (const auto capability =
          kernels->items().empty() ? std::nullopt : kernels->items().front().find("compute_capability"))
    found.compute_capability = capability->text();
  for (const Node& kernel : kernels->items()) {
    const auto own = kernel.find("before");
    const auto take_file = [&](InstanceCode& code) {
      code.before = own ? own->integer(0, 1) : before, code.mask_rows = mask_rows, code.one_mask = one_mask;
    };
    if (kernel.find("launch")) {
      found.launches.push_back(read_launch(kernel));
      take_file(found.launches.back().code);
      continue;
    }
    InstanceCode code = read_passes(kernel);
    take_file(code);
    found.variants.emplace_back(kernel["variant"], std::move(code));
  }
  return found;
}

}  // namespace tilescope::reading
