// Symbolic counts compiled for many exact evaluations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "poly/symbols.h"

namespace tilescope {

// A flat program: trip counts and gates, then products (each shared sub-product once), then the sums.
// run() is const and may be called from several threads at once.
class Program {
 public:
  // inputs, externals: a value for each of Symbols::inputs() and Symbols::externals(), in that order (those defined
  // when the program was compiled; more are ignored). outputs: one a polynomial. The first call in a thread may
  // allocate scratch space, later ones do not. Throws CountOverflow when a count, or a product on the way to it,
  // exceeds 2^63 - 1; std::domain_error for a tile below 1, a negative size, or a result that is not an integer;
  // std::invalid_argument for a span of the wrong length.
  void run(std::span<const std::int64_t> inputs, std::span<const std::int64_t> externals,
           std::span<std::int64_t> outputs) const;

  std::size_t output_count() const { return sums_.size(); }
  std::size_t operation_count() const { return derived_.size() + products_.size() + terms_.size(); }

 private:
  friend class ProgramBuilder;
  using Slot = std::uint32_t;  // 0 holds 1, then inputs, externals, derived symbols, products
  enum class DerivedBy { ceil, gate, largest };
  struct Derived {
    DerivedBy operation;
    Slot a, b;
  };
  struct SlotProduct {
    Slot a, b;
  };
  struct SumTerm {
    std::int64_t coefficient;  // times the sum's denominator
    Slot product;
  };
  struct TermSum {
    std::size_t end;  // of its terms, which follow the previous sum's
    std::int64_t denominator;
  };

  void derive(std::span<std::int64_t> slots) const;

  std::size_t input_count_ = 0, external_count_ = 0;
  std::vector<Derived> derived_;
  std::vector<SlotProduct> products_;
  std::vector<SumTerm> terms_;
  std::vector<TermSum> sums_;
};

// Throws std::invalid_argument for an exponent that is negative or not an integer: relaxed polynomials have no exact
// integer value, use evaluate().
Program compile(const Symbols& symbols, std::span<const Polynomial> polynomials);

}  // namespace tilescope
