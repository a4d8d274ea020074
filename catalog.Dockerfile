# The image of the catalog: the files that `make catalog` wrote to dist/catalog, and no server. The Lifecycle Manager serves
# them with its own; docs/bundle.md has the CatalogSource and the ClusterCatalog.
FROM scratch
ARG VERSION=0.0.0-dev
ARG REVISION=unknown
ARG SOURCE=https://github.com/aimodel-operator/aimodel-operator
LABEL org.opencontainers.image.title="aimodel-operator catalog" \
      org.opencontainers.image.description="The catalog of the aimodel-operator for the Operator Lifecycle Manager" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.version="${VERSION}" \
      operators.operatorframework.io.index.configs.v1="/configs"
COPY dist/catalog /configs/
USER 65532:65532
