#include "base/escape.h"
#include "report/model.h"
#include "report/report.h"
#include "report/text/text_format.h"

namespace tilescope {

std::string render_csv(const analysis::Report& content) {
  std::string out = "point,label,kernel,quantity,level,predicted,measured,ratio,tolerance,verdict\n";
  for (const report::ReportRow& row : report::all_rows(content)) {
    for (const std::string& cell :
         {row.point, report::label_of(content, row.point), row.kernel, row.quantity, row.level})
      out += csv_escaped(cell) + ',';
    for (const report::Number& number : {row.predicted, row.measured, row.ratio, row.tolerance})
      out += report::plain_number(number) + ',';
    out += (row.verdict ? to_string(*row.verdict) : "") + '\n';
  }
  return out;
}

}  // namespace tilescope
