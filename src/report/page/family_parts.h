// Pieces of the family page: every number is a <data> element, so that a program reads exactly what a reader sees
// rounded.
#pragma once

#include <string>

#include "report/model.h"

namespace tilescope::report {

std::string data_html(const Number& value, const std::string& text);        // a dash when absent
std::string amount_html(const std::string& quantity, const Number& value);  // "33.62 MB", "8.59 GFLOP"
std::string rate_html(const std::string& quantity, const Number& value);    // the same a second
std::string percent_html(const Number& fraction);                           // "12.3 %"
std::string factor_html(const Number& factor);                              // "×1.23"
std::string less_html(const Number& factor);  // "÷16.0" of what fell, "×1.23" of what rose
std::string third_party_html(bool third_party);

// The page's table and its ladders.
std::string family_rows_html(const FamilyPage& family);
std::string family_ladders_html(const FamilyPage& family);

}  // namespace tilescope::report
