#include "kernel/code/trace/float_loads.h"

#include <map>

#include "kernel/code/sass/kinds.h"

namespace tilescope {
namespace {

bool computes_floats(const Instruction& i) {
  const InstructionKind kind = opcode_row(i.opcode).kind;
  return kind == InstructionKind::fp32 || kind == InstructionKind::special || i.opcode == "FSETP" ||
         i.opcode == "FMNMX";
}

}  // namespace

std::vector<bool> loads_of_floats(const CodeSection& section) {
  std::vector<bool> found(section.instructions.size());
  std::map<int, std::size_t> loaded;  // by register: the load that wrote it last
  for (std::size_t at = 0; at < section.instructions.size(); ++at) {
    const Instruction& i = section.instructions[at];
    if (computes_floats(i))
      for (const RegisterSpan& read : i.reads)
        for (int k = read.first; read.file == RegisterFile::general && k < read.first + read.count; ++k)
          if (const auto load = loaded.find(k); load != loaded.end()) found[load->second] = true;
    const bool loads = opcode_row(i.opcode).kind == InstructionKind::load;
    for (const RegisterSpan& written : i.writes)
      for (int k = written.first; written.file == RegisterFile::general && k < written.first + written.count; ++k)
        if (loads) loaded[k] = at;
        else loaded.erase(k);
  }
  return found;
}

}  // namespace tilescope
