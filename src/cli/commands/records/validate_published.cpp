#include "cli/commands/records/validate_published.h"

#include <algorithm>

#include "base/escape.h"
#include "base/files.h"
#include "cli/output/output.h"
#include "compare/comparison_columns.h"
#include "request/read_point.h"

namespace tilescope::cli {
namespace {

Table summary_of(const std::vector<PublishedResult>& results) {
  return table_of("predicted against published times; roofline: FLOP over peak or compulsory bytes over bandwidth",
                  published_columns(), results);
}

Table rows_of(const std::vector<PublishedResult>& results) {
  std::vector<PublishedLine> all;
  for (const PublishedResult& result : results)
    for (const PublishedLine& line : published_lines(result)) all.push_back(line);
  return table_of("", published_line_columns(), all);
}

}  // namespace

ExitStatus validate_published(const Arguments& arguments) {
  for (const char* other : {"recorded", "import", "experiment", "junit", "errors", "published-rows", "baseline",
                            "since", "update-baseline"})
    if (arguments.has(other))
      throw InputError(Diagnostic{.path = "--" + std::string(other),
                                  .message = "applies to records, not to --published; leave out one of them"});
  const std::vector<PublishedResult> results =
      compare_published(validate::read_published(*arguments.text("published")), data_directory(),
                        rates_from(arguments).value_or(RatesFrom::stated), threads_of(arguments));
  if (const auto markdown = arguments.text("markdown"))
    write_file(*markdown, safe_markdown(render(summary_of(results), OutputFormat::md)));
  const OutputFormat format = arguments.format();
  if (format == OutputFormat::json) deliver(arguments, to_json(results).dump(1) + "\n");
  else
    deliver(arguments,
            render(format == OutputFormat::csv ? rows_of(results) : summary_of(results), style_of(arguments)));
  const bool held =
      std::all_of(results.begin(), results.end(), [](const PublishedResult& result) { return result.passed(); });
  return held ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
