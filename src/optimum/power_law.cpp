#include "optimum/power_law.h"

#include <cmath>

namespace tilescope {

double evaluate(const PowerLaw& law, double memory) {
  double traffic = 0;
  for (const PowerTerm& term : law) traffic += term.alpha * std::pow(memory, -term.beta);
  return traffic;
}

PowerTerm resident_tile_term(std::span<const double> streamed, double resident) {
  const double axes = static_cast<double>(streamed.size());
  double log_product = std::log(resident);  // a product of many large costs would leave the range of a double
  for (const double cost : streamed) log_product += std::log(cost);
  return {axes * std::exp(log_product / axes), 1 / axes};
}

PowerLaw in_bytes(const PowerLaw& values, double width) {
  PowerLaw bytes;
  for (const PowerTerm& term : values) bytes.push_back({term.alpha * std::pow(width, 1 + term.beta), term.beta});
  return bytes;
}

std::optional<double> crossover(const PowerLaw& a, const PowerLaw& b, double low, double high) {
  const auto difference = [&](double log_memory) {
    return evaluate(a, std::exp(log_memory)) - evaluate(b, std::exp(log_memory));
  };
  double left = std::log(low), right = std::log(high);
  const double at_left = difference(left), at_right = difference(right);
  if (!(at_left * at_right <= 0)) return std::nullopt;
  if (at_left == 0) return low;
  constexpr int halvings = 200;  // a double has 53 bits; the rest is for a wide interval
  for (int i = 0; i < halvings && left < right; ++i) {
    const double middle = left + (right - left) / 2;
    if (middle <= left || middle >= right) break;
    (difference(middle) * at_left > 0 ? left : right) = middle;
  }
  return std::exp(left + (right - left) / 2);
}

}  // namespace tilescope
