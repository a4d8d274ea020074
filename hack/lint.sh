#!/usr/bin/env bash
# Runs golangci-lint in the operator's module and, with the same settings, in the modules of the test tools.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

root=$PWD
status=0
for module in . test/modelserver test/localkube; do
	[ -f "$module/go.mod" ] || continue
	echo "  LINT  $module"
	(cd "$module" && CGO_ENABLED=0 "$root/bin/golangci-lint" run --config "$root/.golangci.yml" ./...) || status=1
done
exit $status
