#!/usr/bin/env bash
# Compares the definitions of custom resources with those of the last release, or of the commit BASE: `make crd-compat`. It
# fails where an object that was valid would not be any more, or where OLM v1 would refuse the upgrade.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${BASE:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
if [ -z "$base" ]; then
	echo "Nothing was released yet, so there is nothing to be compatible with. Name a commit with BASE=."
	exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
for definition in config/crd/bases/*.yaml; do
	git cat-file -e "$base:$definition" 2>/dev/null || continue # it is new
	git show "$base:$definition" >"$folder/old.yaml"
	echo "  CHECK $definition since $base"
	bin/crdify "file://$folder/old.yaml" "file://$definition" || status=1
done
exit $status
