// --where: which points of a sweep are wanted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/descriptor/shapes.h"
#include "request/sweep/sweep.h"

namespace tilescope {

class WhereCondition {
 public:
  // "kv_len >= q_len and q_len % 128 == 0"; numbers as everywhere, 32k = 32768. Names are sizes, multiprocessors, warps
  // and stages, and tile_NAME. Throws InputError.
  WhereCondition(const std::string& text, const Sweep& sweep);

  // Of points by one thread after the other: the values of names are kept.
  class Values {
   public:
    explicit Values(const WhereCondition& where);
    bool wants(const Sweep& sweep, const Point& point);

   private:
    const WhereCondition& where_;
    NamedSizes sizes_;
    std::vector<double*> slots_;  // by name of the condition
  };

 private:
  Condition condition_;
  std::vector<std::string> names_;
};

}  // namespace tilescope
