#!/usr/bin/env bash
# Makes the file-based catalog in dist/catalog from catalog/template.yaml and bundle/, and validates it: `make catalog`.
#
#   hack/catalog.sh BUNDLE_IMAGE [BUNDLE CATALOG]   refers to the bundle's image, for publishing
#   hack/catalog.sh inline [BUNDLE CATALOG]         holds the bundle's objects itself: no image is needed to install from it
#
# BUNDLE and CATALOG are other folders to read and to write.
set -euo pipefail
case ${1:?the image of the bundle, or inline} in
inline) render=() ;;
*) render=(--migrate-level=bundle-object-to-csv-metadata --alpha-image-ref-template "$1") ;;
esac
bundle=$(cd "${2:-$(dirname "$0")/../bundle}" && pwd)
catalog=${3:-}
case $catalog in
"" | /*) ;;
*) catalog=$PWD/$catalog ;;
esac
cd "$(dirname "$0")/.."
: "${catalog:=$PWD/dist/catalog}"

# field NAME FILE prints a scalar of a YAML file that kubectl and operator-sdk wrote.
field() { sed -n "s/^  $1: //p" "$2"; }
csv=$bundle/manifests/aimodel-operator.clusterserviceversion.yaml
annotations=$bundle/metadata/annotations.yaml
version=$(field version "$csv")
replaces=$(field replaces "$csv")
channels=$(field operators.operatorframework.io.bundle.channels.v1 "$annotations")
default=$(field operators.operatorframework.io.bundle.channel.default.v1 "$annotations")

# fill CHANNEL fills in a part of the template.
fill() {
	sed -e "s/\$DEFAULT_CHANNEL/$default/; s/\$CHANNEL/$1/; s/\$VERSION/$version/g" \
		-e "$([ -n "$replaces" ] && echo "s/\$REPLACES/$replaces/" || echo '/\$REPLACES/d')"
}

rm -rf "$catalog"
mkdir -p "$catalog/aimodel-operator"
{
	sed '/^---$/,$d; /^#/d' catalog/template.yaml | fill none
	printf 'icon:\n  mediatype: image/svg+xml\n  base64data: %s\n' "$(base64 <config/manifests/icon.svg | tr -d '\n')"
	for channel in ${channels//,/ }; do
		sed -n '/^---$/,$p' catalog/template.yaml | fill "$channel"
	done
	bin/opm render "$bundle" -o yaml ${render[@]+"${render[@]}"}
} >"$catalog/aimodel-operator/catalog.yaml"
bin/opm validate "$catalog"
echo "  GEN   ${catalog#"$PWD"/} (aimodel-operator $version, $1)"
