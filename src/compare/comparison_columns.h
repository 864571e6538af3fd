// The columns of validate's tables.
#pragma once

#include <vector>

#include "compare/ablation.h"
#include "compare/errors.h"
#include "compare/published.h"
#include "predict/explain/column.h"

namespace tilescope {

// A row of a published table, and the table that it is in.
struct PublishedLine {
  const PublishedResult& result;
  const PublishedTime& time;
};
std::vector<PublishedLine> published_lines(const PublishedResult& result);

const Columns<AblationRow>& ablation_columns();
const Columns<ComparisonRow>& comparison_columns();
const Columns<SkippedRecord>& skipped_columns();
const Columns<SummaryRow>& summary_columns();
const Columns<Calibration>& calibration_columns();
const Columns<SearchRegret>& regret_columns();
const Columns<PublishedResult>& published_columns();
const Columns<PublishedLine>& published_line_columns();

std::vector<ColumnList> comparison_column_lists();  // for the docs

}  // namespace tilescope
