#!/usr/bin/env bash
# Builds a pinned development tool into bin/NAME, unless the one there was built from the same go.mod and go.sum, and the same
# sources if it has some of its own, by the same Go. The module of a tool is tools/NAME, or the one named here for a tool that
# comes from the module of another.
#
#   hack/build-tool.sh controller-gen
set -euo pipefail

name=$1
root=$(cd "$(dirname "$0")/.." && pwd)
module="$root/tools/$name"
case $name in
scorecard-test) module="$root/tools/operator-sdk" ;;
olm-catalog) module="$root/tools/olm" ;; # the other of the Lifecycle Manager's two operators
catalogd) module="$root/tools/operator-controller" ;; # and the other of OLM v1's two components
esac
stamp="$root/bin/.$name.key"

[ -f "$module/go.mod" ] || { echo "hack/build-tool.sh: there is no tools/$name" >&2; exit 1; }

sources=$(find "$module" -maxdepth 1 -name '*.go' | sort) # of the one that is written here
# shellcheck disable=SC2086 # a list of words
key=$({ cat "$module/go.mod" "$module/go.sum" $sources; go version; } | git hash-object --stdin)
if [ -x "$root/bin/$name" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$key" ]; then
	exit 0
fi

# The package that is called like the tool, or else the first that go.mod lists as one.
packages=$(cd "$module" && GOWORK=off go list tool)
package=$(grep -m1 "/${name#olm-}\$" <<<"$packages" || head -n 1 <<<"$packages")
version=$(cd "$module" && GOWORK=off go list -f '{{.Module.Version}}' "$package")
mkdir -p "$root/bin"
echo "  BUILD bin/$name ($package $version)" >&2

started=$SECONDS
ldflags="-s -w"
tags=""
case $name in
golangci-lint) ldflags="$ldflags -X main.version=$version" ;;
kustomize) ldflags="$ldflags -X sigs.k8s.io/kustomize/api/provenance.version=$version" ;;
helm)
	ldflags="$ldflags -X helm.sh/helm/v3/internal/version.version=$version"
	# The version of Kubernetes that it renders for where it is given no cluster.
	IFS=. read -r _ minor _ < <(cd "$module" && go list -m -f '{{.Version}}' k8s.io/client-go)
	for of in chartutil lint/rules; do
		ldflags="$ldflags -X helm.sh/helm/v3/pkg/$of.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$of.k8sVersionMinor=$minor"
	done
	;;
operator-sdk)
	ldflags="$ldflags -X github.com/operator-framework/operator-sdk/internal/version.Version=$version"
	tags=containers_image_openpgp
	;;
scorecard-test) tags=containers_image_openpgp ;;
# Signatures in Go, and no drivers of storage that need a C library.
opm | olm | olm-catalog | olmv1 | operator-controller | catalogd) tags=containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper,btrfs_noversion ;;
esac
(cd "$module" && CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -tags "$tags" -ldflags "$ldflags" -o "$root/bin/$name" "$package")
echo "$key" >"$stamp"
echo "  BUILD bin/$name took $((SECONDS - started)) s" >&2
