# The program and its data on a bare Debian 12: docker build -t tilescope . && docker run --rm tilescope hardware list
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
COPY . /src
WORKDIR /src
RUN make program && cmake --install build/release --prefix /opt/tilescope --strip

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      libboost-program-options1.74.0 libyaml-cpp0.7 libfmt9 libzstd1 liblz4-1 zlib1g libsqlite3-0 libtbb12 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tilescope /opt/tilescope
ENTRYPOINT ["/opt/tilescope/bin/tilescope"]
