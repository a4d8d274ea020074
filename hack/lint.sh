#!/usr/bin/env bash
# Runs golangci-lint in the operator's module and, with the same settings, in the other modules that have code. Packages that
# link Kubernetes' servers are left out: linters would have to read all of Kubernetes first.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

root=$PWD
export CGO_ENABLED=0
status=0

# light prints the folders of the module's packages that do not link Kubernetes' servers.
light() { go list -f '{{.Dir}} {{join .Deps " "}}' ./... | grep -v ' k8s\.io/kubernetes/' | cut -d' ' -f1 | sed "s|^$PWD|.|"; }

for module in . test/modelserver test/monitoring test/collector test/localkube tools/images; do
	[ -f "$module/go.mod" ] || continue
	echo "  LINT  $module"
	(
		cd "$module" || exit
		# shellcheck disable=SC2046 # a list of words
		"$root/bin/golangci-lint" run --config "$root/.golangci.yml" $(light)
	) || status=1
done
[ $status -eq 0 ] && echo "  ok    nothing to complain about"
exit $status
