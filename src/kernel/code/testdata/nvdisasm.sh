#!/bin/sh
# Stands for nvdisasm in tests: prints the listing of two kernels of kernels.cubin.
cat "${0%/*}/kernels.sass"
