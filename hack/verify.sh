#!/usr/bin/env bash
# Checks that what is generated matches its sources, that every module is tidy, that Go files are formatted, and that the
# names which stand in several files are the same in each. Generated files are written in place, so a second run after
# committing them passes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

status=0
fail() {
	printf '  FAIL  %s\n' "$*"
	status=1
}

generated=('api/*/zz_generated.*.go' 'internal/*/zz_generated.deepcopy.go' config/crd/bases config/rbac/role.yaml docs/api-reference.md
	docs/it-does-not-start.md docs/kubectl-plugin.md docs/metrics.md config/prometheus/prometheusrule.yaml bundle bundle.Dockerfile)

echo "  CHECK generated files"
make --no-print-directory generate bundle || exit 1
changed=$(git status --porcelain --untracked-files=all -- "${generated[@]}")
if [ -n "$changed" ]; then
	echo "$changed"
	git --no-pager diff --stat -- "${generated[@]}"
	git --no-pager diff -- "${generated[@]}" | head -n 100
	fail "generated files differ from what is committed: run 'make generate bundle' and commit the result"
fi

echo "  CHECK modules are tidy"
while IFS= read -r file; do
	dir=$(dirname "$file")
	# -diff changes nothing; it fails where tidy would.
	if ! out=$(cd "$dir" && GOWORK=off go mod tidy -diff 2>&1); then
		printf '%s\n' "$out" | grep -v '^go: downloading' | head -n 30
		fail "$dir/go.mod or go.sum: run 'go mod tidy' there"
	fi
done < <(git ls-files --cached --others --exclude-standard -- go.mod '*/go.mod')

echo "  CHECK the operator does not depend on the test tools"
if grep -nE '^\s*k8s\.io/kubernetes\s' go.mod; then
	fail "go.mod: the operator's module may not require k8s.io/kubernetes"
fi

echo "  CHECK CRDs fit into an annotation"
for crd in config/crd/bases/*.yaml; do
	size=$(wc -c <"$crd")
	if [ "$size" -ge 262144 ]; then
		fail "$crd has $size bytes: 'kubectl apply' keeps a copy in an annotation, which may have 262144"
	fi
done

echo "  CHECK the version is the same everywhere"
hack/version.sh check || fail "run 'hack/version.sh set VERSION', and 'make bundle' for the bundle"

echo "  CHECK formatting"
unformatted=$(git ls-files --cached --others --exclude-standard -- '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	echo "$unformatted"
	fail "not formatted: run 'make fmt'"
fi

[ $status -eq 0 ] && echo "  ok    everything generated is up to date"
exit $status
