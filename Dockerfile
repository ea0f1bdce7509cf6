# An image with weft and nothing else, for people and for the workers of clusters (docs/batch.md):
#
#   docker build -t weft .
#   docker run --rm -v "$PWD:/data" --user "$(id -u)" weft migrate --out /data/converted /data/traces
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /out/weft ./cmd/weft
# What weft sorts on disk goes here; an image without files has no such folder.
RUN mkdir -m 1777 /out/tmp

FROM scratch
COPY --from=build /out/weft /usr/local/bin/weft
COPY --from=build --chmod=1777 /out/tmp /tmp
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/weft"]
