// The library's functions for Python, with texts and lists; __init__.py makes dicts and arrays of them.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "tilescope/catalogue.h"
#include "tilescope/compare.h"
#include "tilescope/predict.h"
#include "tilescope/record.h"
#include "tilescope/search.h"
#include "tilescope/sweep.h"

namespace api = tilescope::api;
namespace py = pybind11;

namespace {

std::pair<std::vector<std::string>, std::vector<std::vector<api::Cell>>> pair_of(api::Table table) {
  return {std::move(table.columns), std::move(table.rows)};
}

}  // namespace

// BadInput is a std::invalid_argument, which Python sees as a ValueError.
PYBIND11_MODULE(_tilescope, module) {
  const py::call_guard<py::gil_scoped_release> unlocked;
  module.def(
      "predict", [](const api::Options& options) { return api::predict(options).json; }, unlocked);
  module.def(
      "search", [](const api::Options& options) { return api::search(options).json; }, unlocked);
  module.def(
      "sweep", [](const api::Options& options) { return pair_of(api::sweep(options)); }, unlocked);
  module.def(
      "compare", [](const api::Options& options) { return pair_of(api::compare(options)); }, unlocked);
  module.def(
      "compare_records", [](const std::string& path) { return pair_of(api::compare_records(path)); }, unlocked);
  module.def("gpus", &api::gpus);
  module.def("kernels", &api::kernels);
  module.def("schedules", &api::schedules);
  module.def("diagrams", &api::diagrams);
  module.def("workloads", &api::workloads);
}
