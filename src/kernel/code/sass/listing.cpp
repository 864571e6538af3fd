#include "kernel/code/sass/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "kernel/code/sass/encoding.h"
#include "kernel/code/sass/operands.h"
#include "kernel/code/sass/registers.h"

namespace tilescope {
namespace {

constexpr std::string_view section_prefix = ".text.";
constexpr std::size_t most_sections = 100'000, most_instructions = 4'000'000;

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A place that an operand names: "`(.L_x_3)", "`(name + 0x10)" or "0x120".
struct Place {
  std::string label;  // empty: `address` is one
  std::uint64_t address = 0;
};

std::optional<Place> place_of(std::string_view operand) {
  if (!operand.starts_with("`(") || !operand.ends_with(')')) {
    if (!operand.starts_with("0x")) return std::nullopt;
    const auto address = hexadecimal(operand);
    return address ? std::optional<Place>({.label = "", .address = *address}) : std::nullopt;
  }
  std::string_view inside = trimmed(operand.substr(2, operand.size() - 3));
  Place place;
  if (const std::size_t plus = inside.rfind('+'); plus != inside.npos)
    if (const auto offset = hexadecimal(trimmed(inside.substr(plus + 1)))) {
      place.address = *offset;
      inside = trimmed(inside.substr(0, plus));
    }
  place.label = inside;
  return place.label.empty() ? std::nullopt : std::optional(place);
}

class ListingReader {
 public:
  ListingReader(const std::string& source, const std::set<std::string>& only) : source_(source), only_(only) {}

  std::vector<CodeSection> read(std::string_view listing) {
    while (!listing.empty()) {
      const std::size_t end = std::min(listing.find('\n'), listing.size());
      ++line_;
      read_line(trimmed(listing.substr(0, end)));
      listing.remove_prefix(std::min(end + 1, listing.size()));
    }
    finish_section();
    if (sections_.empty() && !has_others_) fail("expected the listing of nvdisasm -c, found no section of code");
    return std::move(sections_);
  }

 private:
  struct Branch {
    std::size_t instruction = 0;
    std::vector<Place> places;
    int line = 0;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(Diagnostic{.file = source_, .line = line_, .message = message});
  }

  void read_line(std::string_view line) {
    if (line.empty() || line.starts_with("//")) return;
    if (line.starts_with("/*")) {
      if (!passed_over_) read_instruction(line);
      return;
    }
    constexpr std::string_view section = ".section";
    if (line.starts_with(section) && line.find_first_of(" \t") == section.size())
      return start_section(trimmed(line.substr(section.size())));
    if (line.ends_with(':')) return add_label(std::string(line.substr(0, line.size() - 1)));
  }

  void start_section(std::string_view text) {
    finish_section();
    const std::string_view name = text.substr(0, text.find(','));
    if (!name.starts_with(section_prefix)) return;
    passed_over_ = !only_.empty() && !only_.contains(std::string(name.substr(section_prefix.size())));
    has_others_ = has_others_ || passed_over_;
    if (passed_over_) return;
    if (sections_.size() >= most_sections) fail("has more sections than a file can have");
    sections_.push_back({.name = std::string(name.substr(section_prefix.size())), .instructions = {}, .functions = {}});
    open_ = true;
  }

  void add_label(std::string name) {
    if (!open_) return;
    CodeSection& section = sections_.back();
    const std::uint64_t next =
        section.instructions.empty() ? 0 : section.instructions.back().address + instruction_bytes;
    if (!labels_.emplace(name, next).second) fail(fmt::format("has the label {} twice", shown_text(name)));
    if (!name.starts_with('.') && name != section.name) section.functions.emplace_back(next, std::move(name));
  }

  // "/*0040*/   @P0 BRA `(.L_x_1) ;"; a line with an encoding alone, "/* 0x... */", is passed over.
  void read_instruction(std::string_view line) {
    const std::size_t close = line.find("*/");
    if (close == line.npos) fail("has a comment without an end: it is cut off or damaged");
    const std::string_view number = trimmed(line.substr(2, close - 2));
    std::string_view text = trimmed(line.substr(close + 2));
    if (number.starts_with("0x") && text.empty()) return;
    if (!open_) fail("has an instruction outside a section of code");
    const auto address = hexadecimal(number);
    if (!address) fail(fmt::format("expected the address of an instruction, found {}", shown_text(number)));
    const std::size_t end = text.find(';');
    if (end == text.npos) fail("has an instruction without an end: it is cut off or damaged");
    CodeSection& section = sections_.back();
    const std::uint64_t expected =
        section.instructions.empty() ? 0 : section.instructions.back().address + instruction_bytes;
    if (*address != expected)
      fail(fmt::format("expected the instruction at {:#06x}, found {:#06x}", expected, *address));
    if (section.instructions.size() >= most_instructions) fail("has more instructions than a kernel can have");
    Branch branch{.instruction = section.instructions.size(), .places = {}, .line = line_};
    section.instructions.push_back(parsed(trimmed(text.substr(0, end)), *address, branch));
    if (!branch.places.empty()) branches_.push_back(std::move(branch));
  }

  Instruction parsed(std::string_view text, std::uint64_t address, Branch& branch) const {
    Instruction instruction{.address = address};
    std::vector<std::string> labels;
    if (!parse_instruction(text, instruction, labels))
      fail(fmt::format("expected an instruction, found {}", shown_text(text)));
    if (!add_registers(instruction)) fail(fmt::format("has a register that no GPU has: {}", shown_text(text)));
    if (!names_places(instruction)) return instruction;
    for (const std::string& label : labels) branch.places.push_back({.label = label});
    for (const std::string& operand : instruction.operands)
      if (auto place = place_of(operand); place && (!place->label.empty() || instruction.opcode != "CALL"))
        branch.places.push_back(*place);
    return instruction;
  }

  static bool names_places(const Instruction& instruction) {
    constexpr std::string_view names[] = {"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "WARPSYNC", "BSSY"};
    if (instruction.opcode == "WARPSYNC") return instruction.has("COLLECTIVE");
    return std::find(std::begin(names), std::end(names), instruction.opcode) != std::end(names);
  }

  void finish_section() {
    if (open_) {
      if (sections_.back().instructions.empty())
        fail(fmt::format("has no instruction of {}", shown_text(sections_.back().name)));
      for (const Branch& branch : branches_) resolve(branch);
    }
    branches_.clear(), labels_.clear(), open_ = passed_over_ = false;
  }

  void resolve(const Branch& branch) {
    line_ = branch.line;
    CodeSection& section = sections_.back();
    Instruction& instruction = section.instructions[branch.instruction];
    const std::uint64_t size = section.instructions.size() * instruction_bytes;
    for (const Place& place : branch.places) {
      std::uint64_t address = place.address;
      if (!place.label.empty()) {
        const auto label = labels_.find(place.label);
        if (label == labels_.end() && instruction.opcode == "CALL") {
          instruction.callee = place.label;
          continue;
        }
        if (label == labels_.end())
          fail(fmt::format("goes to {}, which is no label of its section", shown_text(place.label)));
        address += label->second;
      }
      if (address % instruction_bytes != 0 || address >= size)
        fail(fmt::format("goes to {:#x}, where its section has no instruction", address));
      instruction.targets.push_back(address);
    }
  }

  const std::string& source_;
  const std::set<std::string>& only_;
  int line_ = 0;
  bool open_ = false, passed_over_ = false, has_others_ = false;
  std::vector<CodeSection> sections_;
  std::map<std::string, std::uint64_t> labels_;
  std::vector<Branch> branches_;
};

}  // namespace

std::vector<CodeSection> read_listing(std::string_view listing, const std::string& source,
                                      const std::set<std::string>& only) {
  return ListingReader(source, only).read(listing);
}

}  // namespace tilescope
