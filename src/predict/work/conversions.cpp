#include "predict/work/conversions.h"

#include <cstdlib>

#include "base/contains.h"

namespace tilescope {
namespace {

// A sequence of instructions for values of one format, as a public code has it.
struct Sequence {
  Format from, to;
  double capability;                         // the least compute capability that has the instruction; 0: any
  double alu, conversion, ffma, fadd, fmul;  // a value
};

// Of several rows for a pair the first that the GPU has counts. Values are packed in registers of 32 bits.
//
//   int4 -> fp16: 8 values by 4 LOP3 and a shift, 2 HSUB2 and 2 HFMA2 (FasterTransformer,
//   interleaved_numeric_conversion.h;
//     Marlin, dequant.h); -> bf16: 4 LOP3, 3 shifts, 4 HFMA2.BF16 (the same)
//   int8 -> fp16: 4 values by 2 PRMT and 2 HSUB2 (the same); -> bf16: 4 PRMT, 4 FADD, 2 PRMT (the same)
//   int4 -> int8: 8 values by 2 LOP3 and a shift (QServe, arXiv 2405.04532, section 5.2.3)
//   fp8_e4m3 -> fp16: cvt.rn.f16x2.e4m3x2, 2 values, from 8.9 on (PTX ISA); before, and to bf16: 2 values by a shift
//   and
//     2 LOP3, a shift for the next 2, and HMUL2 of the exponent's bias (Marlin, dequant.h)
//   fp8_e5m2 -> fp16: the upper bytes of 2 values by PRMT; -> bf16: as e4m3
//   fp4, fp6 -> fp16: cvt.rn.f16x2.e2m1x2, .e2m3x2, .e3m2x2, from 10.0 on (PTX ISA); else fp4 as e4m3 with a shift for
//     every 2 values but the first (Marlin), fp6 by 10.5 operations for 4 values and HMUL2 (FP6-LLM, arXiv 2401.14112)
//   fp4, fp6 -> fp8: the same without the last products: the bias joins the scale
constexpr std::array sequences{
    Sequence{Format::int4, Format::fp16, 0, 5.0 / 8, 0, 2.0 / 8, 2.0 / 8, 0},
    Sequence{Format::int4, Format::bf16, 0, 7.0 / 8, 0, 4.0 / 8, 0, 0},
    Sequence{Format::int4, Format::int8, 0, 3.0 / 8, 0, 0, 0, 0},
    Sequence{Format::int8, Format::fp16, 0, 2.0 / 4, 0, 0, 2.0 / 4, 0},
    Sequence{Format::int8, Format::bf16, 0, 6.0 / 4, 0, 0, 4.0 / 4, 0},
    Sequence{Format::fp8_e4m3, Format::fp16, 8.9, 0, 1.0 / 2, 0, 0, 0},
    Sequence{Format::fp8_e4m3, Format::fp16, 0, 7.0 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp8_e4m3, Format::bf16, 0, 7.0 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp8_e5m2, Format::fp16, 0, 1.0 / 2, 0, 0, 0, 0},
    Sequence{Format::fp8_e5m2, Format::bf16, 0, 7.0 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp6_e2m3, Format::fp16, 10, 0, 1.0 / 2, 0, 0, 0},
    Sequence{Format::fp6_e2m3, Format::fp16, 0, 10.5 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp6_e2m3, Format::bf16, 0, 10.5 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp6_e2m3, Format::fp8_e4m3, 0, 7.5 / 4, 0, 0, 0, 0},
    Sequence{Format::fp6_e3m2, Format::fp16, 10, 0, 1.0 / 2, 0, 0, 0},
    Sequence{Format::fp6_e3m2, Format::fp16, 0, 10.5 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp6_e3m2, Format::bf16, 0, 10.5 / 4, 0, 0, 0, 2.0 / 4},
    Sequence{Format::fp6_e3m2, Format::fp8_e4m3, 0, 7.5 / 4, 0, 0, 0, 0},
    Sequence{Format::fp6_e3m2, Format::fp8_e5m2, 0, 7.5 / 4, 0, 0, 0, 0},
    Sequence{Format::fp4_e2m1, Format::fp16, 10, 0, 1.0 / 2, 0, 0, 0},
    Sequence{Format::fp4_e2m1, Format::fp16, 0, 15.0 / 8, 0, 0, 0, 4.0 / 8},
    Sequence{Format::fp4_e2m1, Format::bf16, 0, 15.0 / 8, 0, 0, 0, 4.0 / 8},
    Sequence{Format::fp4_e2m1, Format::fp8_e4m3, 0, 7.0 / 8, 0, 0, 0, 0},
    Sequence{Format::fp4_e2m1, Format::fp8_e5m2, 0, 7.0 / 8, 0, 0, 0, 0},
    Sequence{Format::fp16, Format::fp32, 0, 0, 0, 0, 1, 0},  // HADD2.F32
    Sequence{Format::bf16, Format::fp32, 0, 1, 0, 0, 0, 0},  // a shift or LOP3
};

double& of(PipeRates& rates, Pipe pipe) { return rates[static_cast<std::size_t>(pipe)]; }

const Sequence* find_sequence(Format from, Format to, const HardwareProfile& hardware) {
  const double capability = std::strtod(hardware.compute_capability.c_str(), nullptr);
  for (const Sequence& each : sequences)
    if (each.from == from && each.to == to && each.capability <= capability) return &each;
  return nullptr;
}

// By way of fp16 where no sequence leads there straight. Formats without any (fp32 as tf32) take nothing.
PipeRates converted(Format from, Format to, const HardwareProfile& hardware) {
  PipeRates rates{};
  if (from == to) return rates;
  const Sequence* straight = find_sequence(from, to, hardware);
  if (!straight && to == Format::tf32) return converted(from, Format::fp32, hardware);
  if (!straight && from != Format::fp16 && to != Format::fp16 && find_sequence(Format::fp16, to, hardware)) {
    rates = converted(from, Format::fp16, hardware), straight = find_sequence(Format::fp16, to, hardware);
  }
  if (!straight) return rates;
  of(rates, Pipe::alu) += straight->alu, of(rates, Pipe::conversion) += straight->conversion;
  of(rates, Pipe::ffma) += straight->ffma, of(rates, Pipe::fadd) += straight->fadd;
  of(rates, Pipe::fmul) += straight->fmul;
  return rates;
}

}  // namespace

PipeRates unpacking(const Dtype& from, Format to, const HardwareProfile& hardware) {
  const Format element = properties(from.format).element;
  PipeRates rates = converted(element, to, hardware);
  if (from.scale_group == 0 || bits(to) < 16) return rates;
  // HMUL2 by the scale, HFMA2 where there is a zero point: two values at once, one in fp32. The group's own scale and
  // zero point are made numbers once: PRMT or a conversion, and a product.
  const double together = bits(to) == 16 ? 2 : 1, group = static_cast<double>(from.scale_group);
  of(rates, from.zero_bits > 0 ? Pipe::ffma : Pipe::fmul) += 1 / together;
  if (from.scale_bytes == 1) of(rates, Pipe::alu) += 1 / group;
  if (from.zero_bits > 0) of(rates, Pipe::alu) += 1 / group, of(rates, Pipe::fmul) += 1 / group;
  return rates;
}

PipeRates packing(const Dtype& to) {
  PipeRates rates{};
  const FormatRow& row = properties(properties(to.format).element);
  if (row.bits >= 32) return rates;
  if (row.exponent > 0) {
    of(rates, Pipe::conversion) += 1.0 / 2;  // cvt of two values: f16x2, bf16x2, e4m3x2, e2m1x2, ...
  } else {
    of(rates, Pipe::ffma) += 1;                                 // scaled and rounded by 1.5 * 2^23
    of(rates, Pipe::alu) += row.bits == 8 ? 3.0 / 4 : 7.0 / 8;  // bytes by PRMT, nibbles by LOP3
  }
  if (to.scale_group == 0) return rates;
  of(rates, Pipe::alu) += 1;  // the group's largest magnitude
  if (row.exponent > 0) of(rates, Pipe::fmul) += 1;
  of(rates, Pipe::xu) += 1 / static_cast<double>(to.scale_group);  // its reciprocal
  return rates;
}

}  // namespace tilescope
