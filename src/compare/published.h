// Predictions set against times that others published (validate/published.h): how far off, and whether they put the
// rows of a table in the right order. Beside them a plain roofline: FLOP over the peak rate or compulsory bytes over
// the bandwidth, whichever is longer.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "records/published.h"

namespace tilescope {

struct PublishedTime {
  std::string point;
  double measured = 0, predicted = 0, roofline = 0;  // s
  double flop = 0;                                   // of the model, for throughputs
  std::vector<std::string> kernels = {};             // that run one after the other
  ErrorSizes sizes = {};
  double excess = 1;  // > 1: the kernel does not fit, the memory it needs over what there is; no time is judged
  bool fits() const { return excess <= 1; }
};

// How one way of predicting stands against a table.
struct PublishedScore {
  SummaryRow error;  // of rows that fit; n of them
  double bias = 0;   // median of predicted / measured - 1
  double rank = 0;   // Spearman's correlation of throughputs
};

struct PublishedResult {
  std::string name, hardware, source;
  std::vector<PublishedTime> rows;
  PublishedScore model, roofline;
  std::optional<double> most_mape, least_rank;  // the table's bars
  bool passed() const;
};

// Predicts every row, steady state, at the rows' tiles; a row without a tile takes the kernel's first variant that
// serves it. Throws InputError when a kernel, profile or array is unknown or a kernel cannot run a row.
std::vector<PublishedResult> compare_published(const std::vector<validate::PublishedTable>& tables,
                                               const std::filesystem::path& data_directory,
                                               RatesFrom rates = RatesFrom::stated, std::size_t threads = 1);

// Spearman's rank correlation, ties at their mean rank; 0 where either side is all ties. Both of one length.
double rank_correlation(std::span<const double> a, std::span<const double> b);

Json to_json(const std::vector<PublishedResult>& results);  // {"schema", "tables": [{..., "rows": [...]}]}

// Tables as to_json wrote them, as far as error bars need them: names and rows, without bars and scores. InputError for
// another file.
std::vector<PublishedResult> read_published_results(const std::filesystem::path& file);

}  // namespace tilescope
