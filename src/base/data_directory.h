// Where the data stands that the program reads: profiles, models, descriptors, records.
#pragma once

#include <filesystem>

namespace tilescope {

// The folder that holds hardware/, models/, kernels/ and validate/, without symbolic links. In this order:
// $TILESCOPE_DATA; `F` or `F/share/tilescope`, where F is a folder above the shared library that holds this code, or
// else above the running program, nearest first. So an
// installed tree may be moved as a whole. Throws InputError when there is none, or when $TILESCOPE_DATA is not one.
std::filesystem::path data_directory();

// The folder of the HTML report's scripts: report-assets/ in the data, or, in a build tree, above the program. It
// need not exist.
std::filesystem::path report_asset_directory();

// The file F/`name`, where F is a folder above the library or program as for data_directory; empty if there is none.
std::filesystem::path file_above_program(const std::filesystem::path& name);

}  // namespace tilescope
