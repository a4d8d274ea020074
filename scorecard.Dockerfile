# The image of the scorecard tests: one static binary. `make images` builds the same without a container engine; a test
# compares the two.
#
#   docker buildx build --platform linux/amd64,linux/arm64 -f scorecard.Dockerfile -t example.com/aimodel-operator-scorecard:dev .
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
    go build -buildvcs=false -trimpath -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${REVISION}" -o /out/scorecard ./cmd/scorecard

FROM scratch
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
ARG SOURCE=https://github.com/aimodel-operator/aimodel-operator
LABEL org.opencontainers.image.title="aimodel-operator scorecard" \
      org.opencontainers.image.description="Tests of an installed aimodel-operator for operator-sdk scorecard" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/scorecard /scorecard
USER 65532:65532
# The tests name one of themselves; without, it stands in for a model server, which they use on a real cluster.
ENTRYPOINT ["/scorecard", "serve"]
