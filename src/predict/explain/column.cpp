#include "predict/explain/column.h"

namespace tilescope {

const char* description(Origin origin) {
  switch (origin) {
    case Origin::question:
      return "question";
    case Origin::loops:
      return "loops of the schedule, exact";
    case Origin::descriptor:
      return "loops and the kernel's instruction counts, exact";
    case Origin::cache:
      return "model of the L2";
    case Origin::profile:
      return "GPU profile";
    case Origin::time_model:
      return "model of time";
    case Origin::bound:
      return "theorem";
    case Origin::records:
      return "recorded measurements";
    case Origin::measured:
      return "counter or clock of a record";
    case Origin::code:
      return "machine code";
  }
  return "";
}

}  // namespace tilescope
