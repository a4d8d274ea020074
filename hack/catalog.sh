#!/usr/bin/env bash
# Makes the file-based catalog in dist/catalog from catalog/template.yaml and bundle/, and validates it: `make catalog`.
#
#   hack/catalog.sh BUNDLE_IMAGE   refers to the bundle's image, for publishing
#   hack/catalog.sh inline         holds the bundle's objects itself, so that no image is needed to install from it
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:?the image of the bundle, or inline} in
inline) render=() ;;
*) render=(--migrate-level=bundle-object-to-csv-metadata --alpha-image-ref-template "$1") ;;
esac

# field NAME FILE prints a scalar of a YAML file that kubectl and operator-sdk wrote.
field() { sed -n "s/^  $1: //p" "$2"; }
csv=bundle/manifests/aimodel-operator.clusterserviceversion.yaml
annotations=bundle/metadata/annotations.yaml
version=$(field version $csv)
replaces=$(field replaces $csv)
channels=$(field operators.operatorframework.io.bundle.channels.v1 $annotations)
default=$(field operators.operatorframework.io.bundle.channel.default.v1 $annotations)

# fill CHANNEL fills in a part of the template.
fill() {
	sed -e "s/\$DEFAULT_CHANNEL/$default/; s/\$CHANNEL/$1/; s/\$VERSION/$version/g" \
		-e "$([ -n "$replaces" ] && echo "s/\$REPLACES/$replaces/" || echo '/\$REPLACES/d')"
}

rm -rf dist/catalog
mkdir -p dist/catalog/aimodel-operator
{
	sed '/^---$/,$d; /^#/d' catalog/template.yaml | fill none
	printf 'icon:\n  mediatype: image/svg+xml\n  base64data: %s\n' "$(base64 <config/manifests/icon.svg | tr -d '\n')"
	for channel in ${channels//,/ }; do
		sed -n '/^---$/,$p' catalog/template.yaml | fill "$channel"
	done
	bin/opm render ./bundle -o yaml ${render[@]+"${render[@]}"}
} >dist/catalog/aimodel-operator/catalog.yaml
bin/opm validate dist/catalog
echo "  GEN   dist/catalog (aimodel-operator $version, $1)"
