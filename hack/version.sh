#!/usr/bin/env bash
# Knows every place where the version, or what the names of images begin with, is written.
#
#   hack/version.sh show                  prints the version
#   hack/version.sh check                 fails if the places disagree
#   hack/version.sh set VERSION [BASE]    writes them; BASE is IMAGE_TAG_BASE
#
# The bundle is not written but generated from them, by `make bundle`; check looks at it too.
set -euo pipefail
cd "$(dirname "$0")/.."

# file | what stands before | what stands behind. The first place of each list is the one that counts.
versions=(
	'Makefile|VERSION ?= |'
	'charts/aimodel-operator/Chart.yaml|version: |'
	'charts/aimodel-operator/Chart.yaml|appVersion: "|"'
	'docs/install.md|VERSION=|'
)
bases=(
	'Makefile|IMAGE_TAG_BASE ?= |'
	'charts/aimodel-operator/values.yaml|  repository: |'
	'docs/install.md|IMAGE_TAG_BASE=|'
)
csv=bundle/manifests/aimodel-operator.clusterserviceversion.yaml
[ ! -f $csv ] || generated=("$csv|  version: |")

# values PLACE prints what stands there, a line each; nothing if the place is gone.
values() {
	local file before behind
	IFS='|' read -r file before behind <<<"$1"
	awk -v before="$before" -v behind="$behind" '
		index($0, before) == 1 && substr($0, length($0) - length(behind) + 1) == behind {
			print substr($0, length(before) + 1, length($0) - length(before) - length(behind))
		}' "$file"
}

# write PLACE VALUE
write() {
	local file before behind new
	IFS='|' read -r file before behind <<<"$1"
	new=$(mktemp)
	awk -v before="$before" -v behind="$behind" -v value="$2" '
		index($0, before) == 1 && substr($0, length($0) - length(behind) + 1) == behind { $0 = before value behind }
		{ print }' "$file" >"$new"
	cat "$new" >"$file" # keeps the mode
	rm -f "$new"
}

# compare PLACE... fails if a place is gone, or has another value than the first.
compare() {
	local place found want status=0
	want=$(values "$1")
	for place in "$@"; do
		found=$(values "$place" | sort -u)
		if [ -z "$found" ] || [ "$found" != "$want" ]; then
			echo "${place%%|*}: \"$(cut -d'|' -f2 <<<"$place")\" is followed by \"$found\", but ${1%%|*} says \"$want\"" >&2
			status=1
		fi
	done
	return $status
}

# A version of semver.org, without build metadata, which tags of images cannot hold.
number='(0|[1-9][0-9]*)'
semver="^$number\.$number\.$number(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"

case ${1:-} in
show) values "${versions[0]}" ;;
check)
	status=0
	compare "${versions[@]}" ${generated[@]+"${generated[@]}"} || status=1
	compare "${bases[@]}" || status=1
	exit $status
	;;
set)
	[[ ${2:-} =~ $semver ]] || { echo "hack/version.sh: \"${2:-}\" is not a version such as 1.2.3 or 1.2.3-rc.1" >&2; exit 2; }
	for place in "${versions[@]}"; do write "$place" "$2"; done
	[ -z "${3:-}" ] || for place in "${bases[@]}"; do write "$place" "$3"; done
	;;
*)
	sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
