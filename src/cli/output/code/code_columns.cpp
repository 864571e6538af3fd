#include "cli/output/code/code_columns.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/output/code/code_json.h"
#include "cli/output/code/simulation_output.h"
#include "records/capture/capture.h"

namespace tilescope::cli {
namespace {

using K = InstructionKind;

constexpr std::int64_t instruction_bytes_of_text = 16;

Json parameters_json(const InspectedKernel& row) {
  Json list = Json::array();
  for (const KernelParameter& parameter : row.kernel.parameters)
    list.push_back({{"offset", parameter.offset}, {"bytes", parameter.bytes}});
  return list;
}

Json parameter_bytes(const InspectedKernel& row) {
  std::int64_t end = 0;
  for (const KernelParameter& parameter : row.kernel.parameters)
    end = std::max(end, parameter.offset + parameter.bytes);
  return end;
}

Json machine_code(const InspectedKernel& row) {
  return row.code ? code_json(*row.code, row.show_instructions) : Json(Json::value_t::discarded);
}

Json machine_bounds(const InspectedKernel& row) {
  return row.bounds ? bounds_json(*row.code, *row.bounds, row.show_instructions) : Json(Json::value_t::discarded);
}

Json simulated(const InspectedKernel& row) {
  return row.simulation ? simulation_json(*row.code, *row.simulation, row.show_instructions)
                        : Json(Json::value_t::discarded);
}

Json clocks_of(const LoopBound& bound, CodePipe pipe) {
  const auto found = bound.pipes.find(pipe);
  return found == bound.pipes.end() ? Json(0) : Json(found->second);
}

const CodeRole& role_of(const RoleRow& place) { return place.code->roles[place.index]; }

std::string letters(const std::vector<std::size_t>& roles) {
  std::string text;
  for (const std::size_t role : roles) text += role_letter(role);
  return text.empty() ? "-" : text;
}

std::string warps_text(const RoleRow& place) {
  std::vector<std::string> ranges;
  for (const auto& [first, last] : role_of(place).warps)
    ranges.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  return join(ranges, ",");
}

std::string purpose(const RoleRow& place) {
  CodeCounts counts = role_of(place).own;
  if (place.code->roles.size() == 1) counts += role_of(place).shared;
  std::vector<std::string> parts;
  if (counts.of(K::matrix) > 0) parts.emplace_back("matrix products");
  if (counts.of(K::special) > 0) parts.emplace_back("special functions");
  if (counts.of(K::async_copy) > 0) parts.emplace_back("asynchronous copies");
  if (counts.thread_bytes(K::load, CodeMemory::global) > 0) parts.emplace_back("global loads");
  if (counts.thread_bytes(K::store, CodeMemory::global) > 0) parts.emplace_back("global stores");
  return parts.empty() ? "nothing of its own" : join(parts, ", ");
}

// Instructions of these kinds in a pass of a loop.
auto count_of(std::initializer_list<InstructionKind> kinds) {
  return [kinds = std::vector(kinds)](const LoopRow& row) -> Json {
    std::int64_t sum = 0;
    for (const InstructionKind kind : kinds) sum += row.always.of(kind) + row.sometimes.of(kind);
    return sum;
  };
}

auto bytes_of(InstructionKind kind, std::initializer_list<CodeMemory> levels) {
  return [kind, levels = std::vector(levels)](const LoopRow& row) -> Json {
    std::int64_t sum = 0;
    for (const CodeMemory level : levels)
      sum += row.always.thread_bytes(kind, level) + row.sometimes.thread_bytes(kind, level);
    return sum;
  };
}

// "void name<int>(float*)" -> "name<int>": what comes before the last blank and from the last opening bracket on, where
// these stand outside other brackets.
std::string without_signature(const std::string& name) {
  int depth = 0;
  std::size_t start = 0, end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (depth == 0 && name[i] == ' ' && name.compare(0, i, "void") == 0) start = i + 1;
    if (depth == 0 && name[i] == '(' && name.compare(i, 11, "(anonymous ") != 0) end = i;
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
  }
  return end > start ? name.substr(start, end - start) : name;
}

template <class Row, class Value>
Column<Row> column(const char* key, const char* title, const char* unit, const char* meaning, Value value) {
  return {{key, title, unit, meaning, Origin::code}, value};
}

}  // namespace

std::int64_t calls_in(const CodeLoop& loop) {
  std::int64_t calls = 0;
  for (const CodeCounts* counts : {&loop.always, &loop.sometimes})
    for (const auto& [opcode, count] : counts->opcodes)
      if (opcode.substr(0, opcode.find('.')) == "CALL") calls += count;
  return calls;
}

std::string role_letter(std::size_t role) {
  constexpr std::size_t alphabet = 26;
  return std::string(1, static_cast<char>('a' + role % alphabet));
}

std::string shown_address(std::uint64_t address) { return fmt::format("{:#06x}", address); }

std::string readable_name(const std::string& symbol) { return without_signature(capture::demangled(symbol)); }

bool is_named(const std::string& symbol, const std::string& part) {
  return symbol.find(part) != std::string::npos || readable_name(symbol).find(part) != std::string::npos;
}

const Columns<InspectedKernel>& code_columns() {
  using R = InspectedKernel;
  static const Columns<R> columns{
      {{"kernel", "kernel", "", "Name of the kernel, as the linker sees it; in text as C++ writes it.", Origin::code},
       [](const R& r) { return r.kernel.name; },
       [](const R& r) { return readable_name(r.kernel.name) + (r.kernel.is_function ? " (function)" : ""); }},
      json_only<R>({"is_function", "is_function", "",
                    "It is no kernel but a function of a relocatable object, which kernels call.", Origin::code},
                   [](const R& r) { return r.kernel.is_function; }),
      column<R>("compute_capability", "cc", "", "Compute capability that the code is for.",
                [](const R& r) { return r.compute_capability; }),
      column<R>("registers", "registers", "", "Registers of a thread at the start.",
                [](const R& r) { return r.kernel.registers; }),
      column<R>("shared_bytes", "shared", "B",
                "Static shared memory of a block, without the system's part; null: not known before linking.",
                [](const R& r) { return r.kernel.linked ? Json(r.kernel.shared_bytes) : Json(); }),
      column<R>("local_bytes", "local", "B", "Stack frame of a thread: indexed arrays and spilled registers.",
                [](const R& r) { return r.kernel.local_bytes; }),
      column<R>("barriers", "barriers", "", "Named barriers of a block.", [](const R& r) { return r.kernel.barriers; }),
      column<R>("most_threads", "most_threads", "",
                "Most threads of a block, by __launch_bounds__ or .reqntid; 0: not stated.",
                [](const R& r) { return r.kernel.most_threads; }),
      column<R>("cluster_blocks", "cluster", "", "Blocks of the cluster that the code requires; 0: none.",
                [](const R& r) { return r.kernel.cluster_blocks; }),
      json_only<R>({"parameters", "parameters", "", "Offset and bytes of each parameter, in the order of the source.",
                    Origin::code},
                   parameters_json),
      text_only<R>({"parameter_bytes", "parameters", "B", "Bytes of all parameters.", Origin::code}, parameter_bytes),
      column<R>("instructions", "instructions", "", "Instructions of the kernel, without functions that it calls.",
                [](const R& r) { return static_cast<std::int64_t>(r.kernel.code.size()) / instruction_bytes_of_text; }),
      json_only<R>({"code", "code", "",
                    "What the machine code does: roles, loops, blocks, instructions by kind. Absent without nvdisasm.",
                    Origin::code},
                   machine_code),
      json_only<R>({"bounds", "bounds", "",
                    "Clocks of a pass of each innermost loop on a GPU. Absent without --hardware.", Origin::time_model},
                   machine_bounds),
      json_only<R>({"simulation", "simulation", "",
                    "Steps of the innermost loops on a simulated SM: clocks, and what is busy. With --simulate.",
                    Origin::time_model},
                   simulated),
  };
  return columns;
}

const Columns<RoleRow>& role_columns() {
  using R = RoleRow;
  static const Columns<R> columns{
      column<R>("role", "role", "", "Letter of the role, for the table of loops.",
                [](const R& r) { return role_letter(r.index); }),
      column<R>("warps", "warps", "", "Warps of a block that run the same loops.", warps_text),
      column<R>("registers", "registers", "", "Registers of a thread after the role's own change; -: as at the start.",
                [](const R& r) { return role_of(r).registers ? Json(*role_of(r).registers) : Json(); }),
      column<R>("own", "instructions", "", "Instructions that no other role reaches.",
                [](const R& r) { return role_of(r).own.instructions; }),
      column<R>("shared", "shared", "", "Instructions that other roles reach too.",
                [](const R& r) { return role_of(r).shared.instructions; }),
      column<R>("loops", "loops", "", "Loops of the role, with those that only wait.",
                [](const R& r) { return role_of(r).loops.size(); }),
      column<R>("does", "does", "", "What the role's own instructions do.", purpose),
  };
  return columns;
}

const Columns<LoopRow>& loop_columns() {
  using R = LoopRow;
  static const Columns<R> columns{
      column<R>("header", "loop", "",
                "Address of the loop's first instruction, indented by depth; outside: instructions in no loop.",
                [](const R& r) { return r.label; }),
      column<R>("roles", "role", "", "Roles that run the loop.", [](const R& r) { return letters(r.roles); }),
      column<R>("always", "each", "", "Instructions that each pass executes, without those of inner loops.",
                [](const R& r) { return r.always.instructions; }),
      column<R>("sometimes", "some", "", "Instructions of a pass that stand under a branch.",
                [](const R& r) { return r.sometimes.instructions; }),
      column<R>("matrix", "mma", "", "Matrix instructions; this column and the next count both kinds of passes.",
                count_of({K::matrix})),
      column<R>("special", "mufu", "", "Special functions.", count_of({K::special})),
      column<R>("float", "fp", "", "FP32, FP16 and FP64 arithmetic.", count_of({K::fp32, K::fp16, K::fp64})),
      column<R>("alu", "alu", "", "Integer, logic, comparison, selection, move.",
                count_of({K::integer, K::logic, K::compare, K::select, K::move})),
      column<R>("imad", "imad", "", "Integer multiply-add; moves written as one.", count_of({K::multiply_add})),
      column<R>("conversion", "conv", "", "Conversions.", count_of({K::conversion})),
      column<R>("shuffle", "shfl", "", "Exchanges between lanes.", count_of({K::shuffle, K::vote})),
      column<R>("uniform", "unif", "", "Uniform arithmetic.", count_of({K::uniform})),
      column<R>("shared_bytes", "smem", "B", "Shared memory loaded and stored by a thread.",
                [](const R& r) -> Json {
                  return bytes_of(K::load, {CodeMemory::shared})(r).get<std::int64_t>() +
                         bytes_of(K::store, {CodeMemory::shared})(r).get<std::int64_t>();
                }),
      column<R>("global_bytes", "gmem", "B", "Global memory loaded and stored by a thread through registers.",
                [](const R& r) -> Json {
                  return bytes_of(K::load, {CodeMemory::global, CodeMemory::generic})(r).get<std::int64_t>() +
                         bytes_of(K::store, {CodeMemory::global, CodeMemory::generic})(r).get<std::int64_t>();
                }),
      column<R>("spill_bytes", "local", "B", "Local memory loaded and stored by a thread: spills, indexed arrays.",
                [](const R& r) -> Json {
                  return bytes_of(K::load, {CodeMemory::local})(r).get<std::int64_t>() +
                         bytes_of(K::store, {CodeMemory::local})(r).get<std::int64_t>();
                }),
      column<R>("copies", "copy", "", "Asynchronous copies.", count_of({K::async_copy})),
      column<R>("synchronisation", "sync", "", "Barriers, mbarriers, waits for copies and products, fences.",
                count_of({K::barrier, K::mbarrier, K::copy_wait, K::matrix_wait, K::fence})),
  };
  return columns;
}

const Columns<LoopBoundRow>& loop_bound_columns() {
  using R = LoopBoundRow;
  const auto clocks = [](const char* key, const char* title, const char* meaning, auto value) {
    return Column<R>{{key, title, "clk", meaning, Origin::time_model}, value};
  };
  const auto of_pipe = [&](CodePipe pipe, const char* title, const char* meaning) {
    return Column<R>{{to_string(pipe), title, "clk", meaning, Origin::time_model},
                     [pipe](const R& r) { return clocks_of(*r.bound, pipe); }};
  };
  static const Columns<R> columns{
      {{"header", "loop", "", "Address of the loop's first instruction.", Origin::code},
       [](const R& r) { return shown_address(r.code->loops[r.bound->loop].header); }},
      {{"roles", "role", "", "Roles that run the loop.", Origin::code},
       [](const R& r) { return letters(r.code->loops[r.bound->loop].roles); }},
      clocks("issue", "issue", "Instructions of the main path, at the scheduler's rate, one warp on each scheduler.",
             [](const R& r) { return r.bound->issue; }),
      clocks("banks", "banks", "The same, with waits of multiply-adds for register banks.",
             [](const R& r) { return r.bound->banks; }),
      of_pipe(CodePipe::tensor, "tensor", "Matrix instructions."),
      of_pipe(CodePipe::xu, "xu", "Special functions."),
      of_pipe(CodePipe::fma, "fma", "FP32 and packed FP16 arithmetic, integer multiply-add."),
      of_pipe(CodePipe::alu, "alu", "Integer, logic, comparison, selection, packed conversion."),
      of_pipe(CodePipe::shuffle, "shuffle", "Exchanges between lanes."),
      of_pipe(CodePipe::shared, "shared", "Loads and stores of shared memory by threads."),
      clocks("alone", "alone", "A pass of one warp on each scheduler, in order, with stall counts and latencies.",
             [](const R& r) { return r.bound->alone; }),
      {{"busiest", "busiest", "", "What has most clocks of all but the order of instructions.", Origin::time_model},
       [](const R& r) { return r.bound->busiest; }},
      {{"warps_to_hide", "warps", "", "Warps on a scheduler from which on the busiest part binds and not the order.",
        Origin::time_model},
       [](const R& r) { return r.bound->warps_to_hide; }},
  };
  return columns;
}

std::vector<ColumnList> code_column_lists() {
  return {listed("code", "inspect", code_columns()), listed("code roles", "inspect: text", role_columns()),
          listed("code loops", "inspect: text", loop_columns()),
          listed("code bounds", "inspect --hardware: text", loop_bound_columns()),
          listed("code simulation", "inspect --simulate", simulated_loop_columns())};
}

}  // namespace tilescope::cli
