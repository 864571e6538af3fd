# The two commands a user needs: `make demo` and `make check`. Each installs what it misses on Debian 12.
BUILD := build/release
JOBS := $(shell nproc)
FUZZ_SECONDS := 1200
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PROGRAM_PACKAGES := g++ cmake ninja-build libeigen3-dev libboost-program-options-dev libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libzstd-dev liblz4-dev zlib1g-dev libsqlite3-dev libtbb-dev pkg-config
# The HTML page. A Node.js or browser that is there already is used as it is.
NPM_PACKAGES = $(if $(shell command -v npm),,nodejs npm)
PAGE_PACKAGES = $(NPM_PACKAGES) $(if $(shell command -v chromium),,chromium)
CHECK_PACKAGES = $(PROGRAM_PACKAGES) doctest-dev libbenchmark-dev clang-format clang-tidy python3 python3-jsonschema python3-yaml python3-dev pybind11-dev zstd $(PAGE_PACKAGES)
GPU := $(shell nvidia-smi -L 2>/dev/null | grep -q GPU && echo yes)
REPORT := $(BUILD)/tilescope report --recorded validate/records/h200/main.jsonl

.PHONY: demo report page page-check check tidy sanitize fuzz build program bench package docs clean

# The program alone, its first answer and a report: no tests, and kernels only where a GPU can run them. The HTML page
# needs npm; where that is missing, the report is Markdown. `make report` adds pictures over all records (30 s more).
demo: program
	$(BUILD)/tilescope predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 --tile q=128,kv=64,warps=4
	@if [ -f $(BUILD)/report-assets/bundle.js ]; then set -x; $(REPORT) -o report.html; \
	else set -x; $(REPORT) --format md -o report.md; echo "make report adds the HTML page (it installs npm)"; fi
	@if [ -n "$(GPU)" ]; then \
	  $(BUILD)/tilescope measure --experiment validate/experiments/quick.yaml -o build/records && \
	  $(BUILD)/tilescope validate --recorded build/records; \
	  $(BUILD)/tilescope report --recorded build/records --format md -o report-live.md && echo "open report-live.md for this GPU"; \
	else echo "no GPU here: make check sets predictions against the recorded measurements"; fi

report: program
	$(call install,$(NPM_PACKAGES))
	cmake --preset release && cmake --build --preset release --target report_assets
	$(REPORT) --pictures validate/records -o report.html

# The page to think on: the predictor as WebAssembly in one file, build/page/think.html. Its compilation takes minutes of processor time,
# so `make check` leaves it out and `make page-check` tests it: random points against the command line, in Chromium.
page: program
	$(call install,emscripten xz-utils zstd $(NPM_PACKAGES))
	reports/think/build.sh $(BUILD)/tilescope $(BUILD)/report-assets build/page

page-check: page
	$(call install,$(PAGE_PACKAGES))
	cd reports && THINK_PAGE=$(CURDIR)/build/page/think.html TILESCOPE=$(CURDIR)/$(BUILD)/tilescope node --test test/think.test.mjs

check: build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# The checks of .clang-tidy over all rooms; `make check` runs them over those that compute.
tidy: build
	python3 src/check_tidy.py clang-tidy . $(BUILD)

# The tests of the program under address and undefined-behaviour sanitizers: some 40 minutes of processor time.
sanitize:
	$(call install,$(CHECK_PACKAGES))
	cmake --preset asan && cmake --build --preset asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS) -E '^(format|tidy|sizes|layers|install)$$'

# Each reader of files for FUZZ_SECONDS with random changes of src/fuzz/corpus, under the same sanitizers.
fuzz:
	$(call install,$(PROGRAM_PACKAGES) clang python3)
	cmake --preset fuzz && cmake --build --preset fuzz --target tilescope_fuzz -j $(JOBS)
	python3 src/fuzz/run.py build/fuzz/tilescope_fuzz --seconds $(FUZZ_SECONDS) --jobs $(JOBS)

# Both share a tree: what `make demo` has compiled is not compiled again.
program:
	$(call install,$(PROGRAM_PACKAGES))
	cmake --preset release -DTILESCOPE_TESTS=OFF -DTILESCOPE_LIBRARY=OFF -DTILESCOPE_CUDA=$(if $(GPU),AUTO,OFF) -DTILESCOPE_CUDA_COMPILE_ONLY=OFF
	cmake --build --preset release -j $(JOBS)

# Without a GPU the CUDA code is compiled for its errors alone.
build:
	$(call install,$(CHECK_PACKAGES))
	cmake --preset release -DTILESCOPE_TESTS=ON -DTILESCOPE_LIBRARY=ON -DTILESCOPE_PYTHON=ON -DTILESCOPE_WERROR=ON -DTILESCOPE_CUDA=AUTO \
	  -DTILESCOPE_CUDA_COMPILE_ONLY=$(if $(GPU),OFF,ON)
	cmake --build --preset release -j $(JOBS)

# tilescope-VERSION as .deb and .tar.gz in $(BUILD)
package: program
	$(call install,dpkg-dev)
	cmake --preset release -DTILESCOPE_LIBRARY=ON && cmake --build --preset release -j $(JOBS)
	cd $(BUILD) && cpack

define install
@missing=; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then echo "installing:$$missing"; $(SUDO) apt-get update -qq && \
  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; fi
endef

bench: build
	$(BUILD)/src/tilescope_bench

# Writes the generated tables, outputs and picture of the pages anew, then builds them as a site in build/site (needs mkdocs).
docs: build
	head -n 5 docs/columns.md >$(BUILD)/columns.md && $(BUILD)/tilescope list columns --format md >>$(BUILD)/columns.md
	mv $(BUILD)/columns.md docs/columns.md
	python3 docs/tools/commands.py $(BUILD)/tilescope --update
	python3 docs/tools/accuracy.py $(BUILD)/tilescope
	python3 docs/tools/picture.py $(BUILD)/tilescope
	python3 docs/tools/links.py
	python3 docs/tools/site.py

clean:
	rm -rf build
