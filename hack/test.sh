#!/usr/bin/env bash
# Runs suites of tests, one after the other, and ends with one line that sums them up.
#
#   hack/test.sh unit modules integration
#
# Suites: unit, modules (the tests of the other Go modules), packaging, registries (backends against real model registries),
# integration, e2e, scale, olm, olmv1, scorecard.
#
# Integration, e2e and scale run on a control plane that they start themselves, or on the cluster of KUBECONFIG where that is set.
# GO_TEST_FLAGS is added to each `go test`, such as GO_TEST_FLAGS=-ginkgo.focus=conflict.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

records=${TEST_RECORDS:-$(mktemp -d)}
mkdir -p "$records"
status=0
files=() # the records of this run

say() { printf '\n%s\n' "$*"; }

# suite NAME FLAGS... runs `go test` in the folder ${dir:-.}.
suite() {
	local name=$1
	shift
	files+=("$records/$name")
	# Vetting is the linter's work: here it would read every dependency once more, for each way of compiling.
	# shellcheck disable=SC2086 # the flags are words
	(cd "${dir:-.}" && "$testsum" $verbose -record "$records/$name" -- go test -json -vet=off "$@" ${GO_TEST_FLAGS:-}) || status=1
}

# existing keeps only the package patterns whose folder exists.
existing() {
	local pattern
	for pattern in "$@"; do
		[ -d "${pattern%/...}" ] && printf '%s ' "$pattern"
	done
}

unit() {
	say "Unit and golden tests"
	local race="-race" cgo=1
	if ! command -v "${CC:-gcc}" >/dev/null 2>&1; then
		race="" cgo=0
		echo "  There is no C compiler, so they run without the race detector."
	fi
	# shellcheck disable=SC2046,SC2086 # lists of words
	CGO_ENABLED=$cgo suite unit $race -timeout 15m \
		$(existing ./api/... ./cmd/... ./controllers/... ./hack/... ./helm-charts/... ./internal/...)
}

modules() {
	local module
	for module in test/modelserver test/monitoring test/localkube tools/images; do
		[ -f "$module/go.mod" ] || continue
		say "Tests of $module"
		CGO_ENABLED=0 dir=$module suite "${module##*/}" -short -timeout 15m ./...
	done
}

registries() {
	say "Tests against real model registries"
	hack/registries.sh
	if command -v node >/dev/null && [ -d test/webhook-receiver/node_modules ]; then
		(cd test/webhook-receiver && node --test >/tmp/receiver-test.$$ 2>&1) || {
			cat /tmp/receiver-test.$$
			echo "  FAIL  test/webhook-receiver"
			status=1
		}
		rm -f /tmp/receiver-test.$$
	fi
	# Each registry is a server that mostly waits: they run side by side.
	CGO_ENABLED=0 suite registries -count=1 -parallel 8 -timeout 20m ./test/registries/...
}

packaging() {
	say "Tests of the packaging"
	CGO_ENABLED=0 suite packaging -timeout 15m ./test/packaging/...
}

bundle() {
	say "Tests of the bundle"
	CGO_ENABLED=0 verbose=-v suite bundle -count=1 -timeout 10m ./test/bundle/...
}

integration() {
	hack/registries.sh # the operator is tested with real ones too
	make otelcol || status=1 # traces are sent to it
	on_cluster integration 30m "Integration tests"
}

olm() {
	local timeout=30m
	if [ "${OLM_INTEGRATION:-}" = all ]; then
		timeout=60m
		hack/registries.sh # what the integration tests need
		make otelcol || status=1
	fi
	on_cluster olm "$timeout" "Installation by the Operator Lifecycle Manager" -ginkgo.label-filter=v0
}

olmv1() { record=olmv1 on_cluster olm 20m "Installation by OLM v1" -ginkgo.label-filter=v1; }
e2e() { on_cluster e2e 40m "End-to-end tests"; }
scorecard() { on_cluster scorecard 20m "Scorecard tests in pods"; }
scale() { on_cluster scale 60m "Scale tests"; }

# on_cluster NAME TIMEOUT TITLE FLAGS... runs the tests in test/NAME. They are counted as ${record:-NAME}.
on_cluster() {
	local name=$1 timeout=$2 title=$3
	shift 3
	if [ ! -d "test/$name" ]; then
		say "$title: there is no test/$name"
		status=1
		return
	fi
	if [ -n "${KUBECONFIG:-}" ]; then
		say "$title, on the cluster of KUBECONFIG=$KUBECONFIG"
		allowed || return
	else
		say "$title, on localkube"
		if ! hack/build-localkube.sh; then
			echo "  FAIL  localkube could not be built"
			status=1
			return
		fi
	fi
	# One package at a time: each may start a control plane of its own.
	verbose=-v CGO_ENABLED=0 suite "${record:-$name}" -count=1 -p 1 -timeout "$timeout" "./test/$name/..." "$@"
}

# allowed keeps the tests, which install CRDs and delete namespaces, off a cluster that was not meant.
allowed() {
	local file foreign=""
	local IFS=:
	for file in $KUBECONFIG; do
		foreign+=$(sed -n 's/^ *server: *//p' "$file" | tr -d "\"'" |
			grep -Ev '^https?://(127\.[0-9.]+|localhost|\[::1\])(:|/|$)')
	done
	if [ -n "$foreign" ] && [ "${TEST_CLUSTER:-}" != 1 ]; then
		echo "  That is not on this machine: $foreign"
		echo "  The tests install CRDs there and remove them again. Add TEST_CLUSTER=1 if that is what you want,"
		echo "  or unset KUBECONFIG to run them on a control plane of their own."
		status=1
		return 1
	fi
}

# One function, read before it runs: the script may be edited meanwhile.
main() {
	local file # go test runs each package in its own folder
	for file in KUBECONFIG INTEGRATION_ACCOUNT; do
		case ${!file:-/} in
		/*) ;;
		*) export "$file=$PWD/${!file}" ;;
		esac
	done

	[ $# -gt 0 ] || set -- unit modules integration registries
	verbose=""
	testsum=$PWD/bin/testsum
	CGO_ENABLED=0 go build -buildvcs=false -o "$testsum" ./hack/testsum || exit 1

	for name in "$@"; do
		case $name in
		unit | modules | bundle | packaging | registries | integration | olm | olmv1 | e2e | scale | scorecard) "$name" ;;
		*)
			echo "hack/test.sh: there is no suite $name" >&2
			exit 2
			;;
		esac
	done

	echo
	"$testsum" -total ${files[@]+"${files[@]}"} || status=1
	[ -n "${TEST_RECORDS:-}" ] || rm -rf "$records"
	exit $status
}

main "$@"
