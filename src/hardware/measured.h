// What `hardware measure` fills in: rates, latencies and energies that microbenchmarks found on a GPU. All of it is
// optional; a model that needs a value which is absent falls back to the datasheet part of the profile or says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "base/units.h"
#include "config/reader.h"
#include "hardware/sourced.h"

namespace tilescope {

// "unit" is an SM. Clocks are SM clocks. A thread operation is one instruction of one thread: a packed conversion of
// two values counts once. Energies are increments over `power.busy`.
struct MeasuredRates {
  using Value = std::optional<Sourced<double>>;
  using ByFormat = std::map<Format, Sourced<double>>;
  using ByCount = std::map<std::int64_t, Sourced<double>>;
  using ByFormatAndCount = std::map<Format, ByCount>;

  struct {
    Value read, write, copy;  // B/s; copy: read and written bytes together
    Value read_off_line;  // B/s of tiles that begin in the middle of a line: neighbors fetch the parts of a line apart
    Value latency;        // s, a dependent load
    Value ramp;           // s that a kernel which streams tiles takes beyond an empty one and its bytes' time
    Value busy;           // part of such a kernel's time that an SM holds blocks, mean: memory does not serve all alike
    Value write_wait;     // s that loads wait longer while SMs store, over the part of memory's time that stores take
    Value read_one_unit;  // B/clk into one SM of a tile's copies beyond the first, the other SMs idle
  } hbm;
  struct {
    Value read_private, read_shared;  // B/s of the GPU: every SM its own data, all SMs the same; hits
    Value read_private_per_clock, read_shared_per_clock;  // B/clk, the same loops
    Value read_one_unit;                                  // B/clk into one SM, the others idle
    Value read_scattered;                                 // the same, of 32-byte sectors, each of another line
    Value read_few_lines;  // B/clk of the GPU, all warps lone sectors of the same 32 lines
    Value write;           // B/s of the GPU, data that stays in L2
    Value write_and_read;  // B/s of the GPU each way: every SM stores its own data past its L1 and loads it again
    Value latency_near, latency_far;          // clk, a dependent load that hits near or far from the SM
    Value capacity_private, capacity_shared;  // B: most that hits again, read by one SM each or by all SMs
    // By DRAM counters and percent: B used in a partition since a line's last use at which so many percent of lines are
    // gone; B stored in the L2 since a line was at which so many percent have been written to DRAM; B that each launch
    // reads, after another, of which so many percent come from DRAM.
    ByCount gone, written, again;
  } l2;
  struct {
    Value load, store;         // B/clk a unit, 16 B a thread without conflicts
    Value latency;             // clk, a dependent 4-byte load
    Value latency_wide;        // the same, of 16 bytes at one address by all lanes
    Value ldmatrix, stmatrix;  // clk a unit between x4 instructions (512 B each)
    Value cp_async;            // B/clk a unit, L2 to shared memory by 16-byte copies of the threads
  } smem;
  // Shared memory of another SM of the cluster ("distributed shared memory"), all SMs at it.
  struct {
    ByCount read;   // B/clk into one SM from the next block's shared memory, by blocks of a cluster
    Value latency;  // clk, a dependent load in a cluster of two
  } dsmem;
  // Local memory, where threads keep what has no register. Stores go on to the L2, loads may hit the L1.
  struct {
    Value store, store_one_warp;  // B/clk out of a unit; out of one of its first four warps
    Value latency, latency_l1;    // clk, a load whose result the warp needs at once: from L2, from L1
    Value l1;                     // B of a unit's memory that L1 and shared memory divide
  } local;
  struct {
    ByFormat mma;                     // clk a sub-partition between m16n8k16 (8 bits: k32) with fp32 or int32 sums
    ByFormat mma_latency;             // clk, dependent
    Value mma_k8, mma_k8_latency;     // the same of m16n8k8 (16 bits), which takes more than half
    ByFormatAndCount wgmma_smem;      // clk a unit between m64nNk16 (8 bits: k32), A from shared memory; by N
    ByFormatAndCount wgmma_register;  // the same, A from registers
    ByCount wgmma_latency;            // clk from issue to the end of the wait, one fp16 m64nNk16, A from shared memory
  } tensor;
  struct {
    Value ex2, rcp, lg2, ffma, fadd, fmul, max, lop3, iadd3, prmt;  // thread operations a clock and unit
    Value cvt_f16x2, cvt_bf16x2, cvt_e4m3x2;                        // the same, two fp32 values each
    Value shuffle;                                                  // the same
    Value issue;  // thread operations a clock and unit (32 a warp instruction), of a mix that no pipe limits
  } pipes;
  struct {
    Value ffma, ex2, max, shuffle, cvt_f16x2, iadd3;  // clk from an instruction to one that uses its result
    Value ldmatrix, movmatrix, constant;  // the same; constant: a load of kernel parameters at an address in a register
    Value operands_read;                  // clk from a store until a register that it reads may be written again
  } chains;
  // What a pipe costs that runs beside matrix instructions of other warps: registers' ports are shared.
  struct {
    Value mma_ex2, mma_ffma, mma_max;        // clk that mma.sync at full rate is held up, a clk of the pipe alone
    Value wgmma_ex2, wgmma_ffma, wgmma_max;  // clk that the pipe takes longer beside wgmma at full rate, a clk alone
    Value wgmma_held;  // clk that wgmma is held up by ffma of other warps, a clk of these alone: its set-up waits to be
                       // issued
    // How far blocks of a unit do not share it evenly (0) but the oldest is served first (1): schedulers pick the
    // oldest warp that can issue. Blocks of warps that go from products to other pipes and to a barrier.
    Value oldest_first;
  } beside;
  struct {
    ByCount block_barrier;  // clk of bar.sync by all warps of a block, by warps
    Value named_barrier;    // clk from a warpgroup's arrive to the other one's passing
    Value mbarrier;         // clk from one warp's arrive to another one's passing
    Value mbarrier_passed;  // clk of a wait for what has come
  } sync;
  struct {
    Value issue;                    // clk between copies of 1 KiB boxes that one thread issues
    Value latency_l2, latency_hbm;  // s from issue of one 8 KiB box to the wait's end
  } tma;
  struct {
    Value red_fp32;  // B/s of the GPU, fp32 additions into L2, 4 B each
  } atomics;
  struct {
    Value host_interval;  // s from one empty kernel to the next in a stream as fast as the host launches them
    Value interval;  // s from the end of a kernel that has stored something until the next one has a block on every SM
    Value
        interval_from_memory;  // the same where so much has passed through the L2 that a launch's own data is not there
    Value dependent;           // s that a kernel adds which is launched early and waits for the one ahead of it
    Value alone;               // s that two events around a kernel show beyond the time in which it has blocks
    Value block_beside;        // s a block of an SM that has room for many
    Value block;  // s from the end of a block that has stored something to the start of the next one in its place
  } launch;
  struct {
    Value most, tensor_most;  // Hz: light load of other pipes; of the tensor cores, by wgmma
    Value mma_most;           // Hz: of the tensor cores by mma.sync, one product right behind the other
    Value tensor_load;        // Hz: wgmma in every SM at the power limit
    Value tensor_first;       // Hz: the same in the first 2 ms after a pause, before the power limit holds
  } clock;
  struct {
    Value idle, busy;        // W: no kernel; every SM spins in one warp at the highest clock
    ByFormat tensor;         // J/FLOP, wgmma, random normal operands from shared memory
    ByFormat mma;            // J/FLOP, mma.sync, the same from registers
    Value hbm, l2, smem;     // J/B read: from HBM into L2 and the SM; from L2 into the SM; from shared memory
    Value add;               // J/B that an SM adds to floats in the L2
    Value ffma, ex2, issue;  // J a thread operation, operands from registers; issue: a cheap integer instruction
    Value clock_exponent;    // energy of an operation goes with this power of the clock (the voltage follows it)
  } power;
};

// Calls visit(group, key, dimension, field) for every field: "hbm", "read", bytes_per_second, rates.hbm.read.
// Reading, writing, showing and checking go through here, so that a field exists for all of them or for none.
template <class Rates, class Visit>
void visit_measured(Rates& r, Visit&& visit) {
  using enum Dimension;
  visit("hbm", "read", bytes_per_second, r.hbm.read);
  visit("hbm", "write", bytes_per_second, r.hbm.write);
  visit("hbm", "copy", bytes_per_second, r.hbm.copy);
  visit("hbm", "read_off_line", bytes_per_second, r.hbm.read_off_line);
  visit("hbm", "latency", seconds, r.hbm.latency);
  visit("hbm", "ramp", seconds, r.hbm.ramp);
  visit("hbm", "busy", count, r.hbm.busy);
  visit("hbm", "write_wait", seconds, r.hbm.write_wait);
  visit("hbm", "read_one_unit", bytes_per_cycle, r.hbm.read_one_unit);
  visit("l2", "read_private", bytes_per_second, r.l2.read_private);
  visit("l2", "read_shared", bytes_per_second, r.l2.read_shared);
  visit("l2", "read_private_per_clock", bytes_per_cycle, r.l2.read_private_per_clock);
  visit("l2", "read_shared_per_clock", bytes_per_cycle, r.l2.read_shared_per_clock);
  visit("l2", "read_one_unit", bytes_per_cycle, r.l2.read_one_unit);
  visit("l2", "read_scattered", bytes_per_cycle, r.l2.read_scattered);
  visit("l2", "read_few_lines", bytes_per_cycle, r.l2.read_few_lines);
  visit("l2", "write", bytes_per_second, r.l2.write);
  visit("l2", "write_and_read", bytes_per_second, r.l2.write_and_read);
  visit("l2", "latency_near", cycles, r.l2.latency_near);
  visit("l2", "latency_far", cycles, r.l2.latency_far);
  visit("l2", "capacity_private", bytes, r.l2.capacity_private);
  visit("l2", "capacity_shared", bytes, r.l2.capacity_shared);
  visit("l2", "gone", bytes, r.l2.gone);
  visit("l2", "written", bytes, r.l2.written);
  visit("l2", "again", bytes, r.l2.again);
  visit("smem", "load", bytes_per_cycle, r.smem.load);
  visit("smem", "store", bytes_per_cycle, r.smem.store);
  visit("smem", "latency", cycles, r.smem.latency);
  visit("smem", "latency_wide", cycles, r.smem.latency_wide);
  visit("smem", "ldmatrix", cycles, r.smem.ldmatrix);
  visit("smem", "stmatrix", cycles, r.smem.stmatrix);
  visit("smem", "cp_async", bytes_per_cycle, r.smem.cp_async);
  visit("dsmem", "read", bytes_per_cycle, r.dsmem.read);
  visit("dsmem", "latency", cycles, r.dsmem.latency);
  visit("local", "store", bytes_per_cycle, r.local.store);
  visit("local", "store_one_warp", bytes_per_cycle, r.local.store_one_warp);
  visit("local", "latency", cycles, r.local.latency);
  visit("local", "latency_l1", cycles, r.local.latency_l1);
  visit("local", "l1", bytes, r.local.l1);
  visit("tensor", "mma", cycles, r.tensor.mma);
  visit("tensor", "mma_latency", cycles, r.tensor.mma_latency);
  visit("tensor", "mma_k8", cycles, r.tensor.mma_k8);
  visit("tensor", "mma_k8_latency", cycles, r.tensor.mma_k8_latency);
  visit("tensor", "wgmma_smem", cycles, r.tensor.wgmma_smem);
  visit("tensor", "wgmma_register", cycles, r.tensor.wgmma_register);
  visit("tensor", "wgmma_latency", cycles, r.tensor.wgmma_latency);
  visit("pipes", "ex2", flop_per_cycle, r.pipes.ex2);
  visit("pipes", "rcp", flop_per_cycle, r.pipes.rcp);
  visit("pipes", "lg2", flop_per_cycle, r.pipes.lg2);
  visit("pipes", "ffma", flop_per_cycle, r.pipes.ffma);
  visit("pipes", "fadd", flop_per_cycle, r.pipes.fadd);
  visit("pipes", "fmul", flop_per_cycle, r.pipes.fmul);
  visit("pipes", "max", flop_per_cycle, r.pipes.max);
  visit("pipes", "lop3", flop_per_cycle, r.pipes.lop3);
  visit("pipes", "iadd3", flop_per_cycle, r.pipes.iadd3);
  visit("pipes", "prmt", flop_per_cycle, r.pipes.prmt);
  visit("pipes", "cvt_f16x2", flop_per_cycle, r.pipes.cvt_f16x2);
  visit("pipes", "cvt_bf16x2", flop_per_cycle, r.pipes.cvt_bf16x2);
  visit("pipes", "cvt_e4m3x2", flop_per_cycle, r.pipes.cvt_e4m3x2);
  visit("pipes", "shuffle", flop_per_cycle, r.pipes.shuffle);
  visit("pipes", "issue", flop_per_cycle, r.pipes.issue);
  visit("chains", "ffma", cycles, r.chains.ffma);
  visit("chains", "ex2", cycles, r.chains.ex2);
  visit("chains", "max", cycles, r.chains.max);
  visit("chains", "shuffle", cycles, r.chains.shuffle);
  visit("chains", "cvt_f16x2", cycles, r.chains.cvt_f16x2);
  visit("chains", "iadd3", cycles, r.chains.iadd3);
  visit("chains", "ldmatrix", cycles, r.chains.ldmatrix);
  visit("chains", "movmatrix", cycles, r.chains.movmatrix);
  visit("chains", "constant", cycles, r.chains.constant);
  visit("chains", "operands_read", cycles, r.chains.operands_read);
  visit("beside", "mma_ex2", count, r.beside.mma_ex2);
  visit("beside", "mma_ffma", count, r.beside.mma_ffma);
  visit("beside", "mma_max", count, r.beside.mma_max);
  visit("beside", "wgmma_ex2", count, r.beside.wgmma_ex2);
  visit("beside", "wgmma_ffma", count, r.beside.wgmma_ffma);
  visit("beside", "wgmma_max", count, r.beside.wgmma_max);
  visit("beside", "wgmma_held", count, r.beside.wgmma_held);
  visit("beside", "oldest_first", count, r.beside.oldest_first);
  visit("sync", "block_barrier", cycles, r.sync.block_barrier);
  visit("sync", "named_barrier", cycles, r.sync.named_barrier);
  visit("sync", "mbarrier", cycles, r.sync.mbarrier);
  visit("sync", "mbarrier_passed", cycles, r.sync.mbarrier_passed);
  visit("tma", "issue", cycles, r.tma.issue);
  visit("tma", "latency_l2", seconds, r.tma.latency_l2);
  visit("tma", "latency_hbm", seconds, r.tma.latency_hbm);
  visit("atomics", "red_fp32", bytes_per_second, r.atomics.red_fp32);
  visit("launch", "host_interval", seconds, r.launch.host_interval);
  visit("launch", "interval", seconds, r.launch.interval);
  visit("launch", "interval_from_memory", seconds, r.launch.interval_from_memory);
  visit("launch", "dependent", seconds, r.launch.dependent);
  visit("launch", "alone", seconds, r.launch.alone);
  visit("launch", "block", seconds, r.launch.block);
  visit("launch", "block_beside", seconds, r.launch.block_beside);
  visit("clock", "most", hertz, r.clock.most);
  visit("clock", "tensor_most", hertz, r.clock.tensor_most);
  visit("clock", "mma_most", hertz, r.clock.mma_most);
  visit("clock", "tensor_load", hertz, r.clock.tensor_load);
  visit("clock", "tensor_first", hertz, r.clock.tensor_first);
  visit("power", "idle", watts, r.power.idle);
  visit("power", "busy", watts, r.power.busy);
  visit("power", "tensor", joules, r.power.tensor);
  visit("power", "mma", joules, r.power.mma);
  visit("power", "hbm", joules, r.power.hbm);
  visit("power", "l2", joules, r.power.l2);
  visit("power", "smem", joules, r.power.smem);
  visit("power", "add", joules, r.power.add);
  visit("power", "ffma", joules, r.power.ffma);
  visit("power", "ex2", joules, r.power.ex2);
  visit("power", "issue", joules, r.power.issue);
  visit("power", "clock_exponent", count, r.power.clock_exponent);
}

// One value with its place below `measured`: "hbm.read", "tensor.mma.fp16", "tensor.wgmma_smem.fp16.n128".
using MeasuredVisitor = std::function<void(const std::string& path, Dimension dimension, const Sourced<double>& value)>;
void for_each_measured(const MeasuredRates& rates, const MeasuredVisitor& visit);

// Reads the block `measured`. `sourced` reads {value, source, note?}.
using SourcedReader = std::function<Sourced<double>(const Node& node, Dimension dimension)>;
MeasuredRates read_measured(const Node& block, const SourcedReader& sourced);

// "B/s", "clk", ...: what values are in once read.
std::string base_unit(Dimension dimension);

// What stands before the number in a key that holds a count: "n" of an instruction ("n128"), "w" of warps ("w8"), "p"
// of percent ("p5").
std::string count_prefix(const std::string& group);

}  // namespace tilescope
