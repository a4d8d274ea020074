#!/usr/bin/env bash
# Makes the file-based catalog in dist/catalog from catalog/template.yaml and bundle/, and validates it: `make catalog`.
#
#   hack/catalog.sh BUNDLE_IMAGE   refers to the bundle's image, for publishing
#   hack/catalog.sh inline         holds the bundle's objects itself, so that no image is needed to install from it
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf dist/catalog
mkdir -p dist/catalog/aimodel-operator
case ${1:?the image of the bundle, or inline} in
inline) render=() ;;
*) render=(--migrate-level=bundle-object-to-csv-metadata --alpha-image-ref-template "$1") ;;
esac
{
	cat catalog/template.yaml
	bin/opm render ./bundle -o yaml ${render[@]+"${render[@]}"}
} >dist/catalog/aimodel-operator/catalog.yaml
bin/opm validate dist/catalog
echo "  GEN   dist/catalog ($1)"
