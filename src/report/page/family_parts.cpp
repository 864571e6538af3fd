#include "report/page/family_parts.h"

#include <fmt/format.h>

#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

std::string times(double factor) { return fmt::format("{:.{}f}", factor, factor < 9.995 ? 2 : factor < 99.95 ? 1 : 0); }

}  // namespace

std::string data_html(const Number& value, const std::string& text) {
  if (!value) return "–";
  return fmt::format(R"(<data value="{}">{}</data>)", *value, escape_html(text));
}

std::string amount_html(const std::string& quantity, const Number& value) {
  const bool few = value && unit_of(quantity).empty() && *value < 1000;  // "3 launches", not "3.000"
  return data_html(value, few ? plain_number(value) : quantity_short(quantity, value));
}

std::string rate_html(const std::string& quantity, const Number& value) {
  return data_html(value, quantity_short(quantity, value) + "/s");
}

std::string percent_html(const Number& fraction) { return data_html(fraction, percent_text(fraction)); }

std::string factor_html(const Number& factor) { return factor ? data_html(factor, "×" + times(*factor)) : "–"; }

std::string less_html(const Number& factor) {
  if (!factor) return "–";
  return data_html(factor, *factor >= 1 ? "÷" + times(*factor) : "×" + times(1 / *factor));
}

std::string third_party_html(bool third_party) { return third_party ? "<span class=\"badge\">third party</span>" : ""; }

}  // namespace tilescope::report
