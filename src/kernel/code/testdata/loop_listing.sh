#!/bin/sh
# Stands for nvdisasm in tests: prints the listing of loop.cubin.
cat "${0%/*}/loop.sass"
