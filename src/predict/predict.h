// The front door of the room: what a schedule or kernel moves and takes, for one point on one GPU.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "predict/point/block_memory.h"
#include "predict/prediction.h"
#include "predict/sm/asked_steps.h"

namespace tilescope {

// Traffic of every memory level, work, footprint and time of a point. Throws CountOverflow where a count exceeds 64
// bits.
Prediction predict(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// The same for the points of a sweep: `out` is cleared and refilled, so that its memory is used again. Where not all is
// wanted, the rest is left out: times are zero, and whether the GPU has a rate for the format is not asked. `blocks` is
// that of the last point with the same plan, GPU and formats, or empty: what blocks have in common is not worked out
// again.
void predict(const Plan& plan, const HardwareProfile& hardware, const Point& point, Prediction& out,
             Wanted wanted = Wanted::all, BlockMemory* blocks = nullptr);

// The same where every tile fits; false: `out` holds the footprint alone.
bool predict_if_it_fits(const Plan& plan, const HardwareProfile& hardware, const Point& point, Prediction& out);

// Reads the machine code from which the point's steps are simulated, which takes as long as reading a GPU's profile.
void read_code(const Plan& plan, const Point& point);

// The program of a step of the first of the point's kernels whose steps can be simulated, with as many blocks on an SM
// as fit and copies from memory. Empty: none can be, since products are not on tensor cores or the kernel is assumed,
// or the GPU's profile lacks a rate.
std::optional<AskedStep> shown_step(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// A prediction whose time is a lower bound of that by the walk, which it leaves out: arrays come from memory and go
// there once, and blocks and memory do not wait for each other. Times grow with the bytes of memory.
Prediction predict_at_least(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// What the gains of a prediction by the walk ask a simulated SM. A thread that is free while another walks may ask it
// ahead.
std::vector<StepQuestion> questions_of_gains(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// A prediction without gains, and what adds them: of several tiles the chosen one alone needs them. The plan and the
// profile are to outlive it.
struct WithoutGains {
  Prediction prediction;
  std::function<void(Prediction&)> add_gains;
};
WithoutGains predict_without_gains(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// The same point under several choices of the time model, one after the other: counts are made once. Without gains.
void predict_times(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                   std::span<const TimeChoices> choices, const std::function<void(const Prediction&)>& each);

}  // namespace tilescope
