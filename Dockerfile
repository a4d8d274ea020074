# The image of the operator: one static binary and the public certificate authorities, nothing else. `make images` builds
# the same files without a container engine; a test compares what the two say.
#
#   docker buildx build --platform linux/amd64,linux/arm64 -t example.com/aimodel-operator:dev .
#
# The build stage runs on the platform of the builder and cross-compiles, so no emulation is needed.
ARG GO_VERSION=1.26
FROM --platform=${BUILDPLATFORM:-linux/amd64} golang:${GO_VERSION} AS build
WORKDIR /src

# The modules change less often than the code: they are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -buildvcs=false -trimpath -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${REVISION}" -o /out/manager ./cmd/manager
# Those of a Go module, which go.sum pins, not those that the image of Go happens to have.
RUN cd tools/images && go run . certificates >/out/ca-certificates.crt

FROM scratch
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
ARG SOURCE=https://github.com/aimodel-operator/aimodel-operator
LABEL org.opencontainers.image.title="aimodel-operator" \
      org.opencontainers.image.description="Serves AI models on GPUs in a Kubernetes cluster" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/manager /manager
# A number, so that runAsNonRoot can be checked without a passwd file. The Deployment names no user: platforms that
# assign one of their own may do so.
USER 65532:65532
ENTRYPOINT ["/manager"]
