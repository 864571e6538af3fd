// --kernel auto and --kernel SOFTWARE[:BACKEND]: which descriptor answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "request/answer.h"
#include "request/calls.h"
#include "request/options.h"

namespace tilescope {

struct KernelChoice {
  std::string kernel;  // empty: none can answer, for `reasons`
  std::string how;     // one line: which of how many, or what the software launches
  std::vector<std::string> reasons;
  std::string launches{};            // of a software: part of the launch's name
  std::shared_ptr<Answer> answer{};  // of `auto`: what answer_of_plan gives for the kernel
};

// Whether --kernel asks for a choice: "auto", or the name of a table of calls, with or without a backend.
bool asks_for_choice(const std::optional<std::string>& kernel);

// The kernels that `auto` chooses from: those that compute a diagram, by its name.
std::vector<std::string> kernels_of_diagram(const std::string& diagram);

// auto: the kernel predicted to be the fastest of those that exist for the GPU, formats, mask, diagram and sizes.
// SOFTWARE: the one that its table of calls names. InputError for a backend that the table lacks.
KernelChoice choose_kernel(const Options& options);

// The same for a software alone, of sizes that are known.
KernelChoice kernel_of_call(const std::string& software_and_backend, const HardwareProfile& hardware, const Plan& plan,
                            const Point& point);

}  // namespace tilescope
