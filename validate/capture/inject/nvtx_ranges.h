// NVTX calls this library for each range that a program or a library in it pushes and pops, without CUPTI between them.
#pragma once

namespace tilescope::capture {

// `get_export_table`: what NVTX gives to InitializeInjectionNvtx2, once for each copy of NVTX in the process.
bool follow_ranges(void* get_export_table);

}  // namespace tilescope::capture
