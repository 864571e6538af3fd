# The two commands a user needs: `make demo` and `make check`. Both install what is missing on Debian 12.
BUILD := build/release
JOBS := $(shell nproc)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PACKAGES := g++ cmake ninja-build libeigen3-dev libboost-program-options-dev libyaml-cpp-dev doctest-dev libfmt-dev \
            nlohmann-json3-dev libbenchmark-dev python3
# A Node.js that is there already is used as it is.
PACKAGES += $(if $(shell command -v npm),,nodejs npm) $(if $(shell command -v chromium),,chromium)

.PHONY: demo check build deps bench docs clean

demo: build
	$(BUILD)/tilescope predict --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim 128 --tile q=128,kv=64,warps=4
	$(BUILD)/tilescope validate
	$(BUILD)/tilescope report --recorded validate/records/h200/main.jsonl --pictures validate/records -o report.html
	@if nvidia-smi -L >/dev/null 2>&1; then \
	  $(BUILD)/tilescope measure --experiment validate/experiments/quick.yaml -o build/records && \
	  $(BUILD)/tilescope validate --recorded build/records; \
	  $(BUILD)/tilescope report --recorded build/records -o report-live.html && echo "open report-live.html for this GPU"; \
	else echo "no GPU here: predictions were set against the recorded measurements"; fi
	@echo "open report.html"

check: build
	ctest --test-dir $(BUILD) --output-on-failure

build: deps
	@[ -f $(BUILD)/build.ninja ] || cmake --preset release
	cmake --build --preset release -j $(JOBS)

deps:
	@missing=; for p in $(PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then echo "installing:$$missing"; $(SUDO) apt-get update -qq && \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; fi

bench: build
	$(BUILD)/src/tilescope_bench

# Writes the generated tables, outputs and picture of the pages anew, then builds them as a site in build/site (needs mkdocs).
docs: build
	python3 docs/tools/commands.py $(BUILD)/tilescope --update
	python3 docs/tools/accuracy.py $(BUILD)/tilescope
	python3 docs/tools/picture.py $(BUILD)/tilescope
	python3 docs/tools/links.py
	python3 docs/tools/site.py

clean:
	rm -rf build
