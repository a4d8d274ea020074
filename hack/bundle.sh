#!/usr/bin/env bash
# Makes the bundle, bundle/ and bundle.Dockerfile, from config/manifests: `make bundle`. The same sources and the same
# variables always give the same bytes.
#
#   VERSION=1.2.3 IMG=example.com/aimodel-operator:1.2.3 SCORECARD_IMG=... hack/bundle.sh [FOLDER]
#
# FOLDER is where both are put, the root of the repository by default. PREVIOUS_VERSION is the version that this one
# replaces; the first has none. A version such as 1.2.3-rc.1 is for the channel candidate only.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${VERSION:?}" "${IMG:?}" "${SCORECARD_IMG:?}"
case $VERSION in
*-*) channels=candidate default_channel=candidate ;;
*) channels=candidate,stable default_channel=stable ;;
esac
folder=$(mkdir -p "${1:-.}" && cd "${1:-.}" && pwd)
root=$PWD
package=aimodel-operator
# The first OpenShift with the Kubernetes of minKubeVersion (1.30).
openshift=v4.17

base=config/manifests/bases/$package.clusterserviceversion.yaml
created=$(sed -n 's/^ *createdAt: *"\(.*\)"$/\1/p' "$base")

# A folder of its own: operator-sdk reads PROJECT from where it runs, and leaves its files there.
mkdir -p dist
work=$(mktemp -d "$root/dist/bundle.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp PROJECT "$work"
mkdir "$work/overlay"
(
	cd "$work/overlay"
	"$root/bin/kustomize" create --resources ../../../config/manifests
	"$root/bin/kustomize" edit set image controller="$IMG" scorecard="$SCORECARD_IMG"
	cp "$root/config/scorecard/images.yaml" . # kustomize wants it beside what uses it
	"$root/bin/kustomize" edit add configuration images.yaml
)
(
	cd "$work"
	"$root/bin/kustomize" build overlay | "$root/bin/operator-sdk" generate bundle -q --overwrite --version "$VERSION" --package $package \
		--channels "$channels" --default-channel "$default_channel" 2>log || { cat log >&2; exit 1; }
)
printf '\n  # The versions of OpenShift that can run it.\n  com.redhat.openshift.versions: %s\n' $openshift >>"$work/bundle/metadata/annotations.yaml"
printf '\n# The versions of OpenShift that can run it.\nLABEL com.redhat.openshift.versions=%s\n' $openshift >>"$work/bundle.Dockerfile"
CGO_ENABLED=0 go run ./hack/bundle -manifests "$work/bundle/manifests" -image "$IMG" -created "$created" \
	-version "$VERSION" -previous "${PREVIOUS_VERSION:-}"

rm -rf "$folder/bundle"
mv "$work/bundle" "$work/bundle.Dockerfile" "$folder"
[ "$folder" = "$root" ] && name=bundle || name=${folder#"$root"/}/bundle
echo "  GEN   $name ($package $VERSION, $IMG)"
