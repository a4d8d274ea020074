#!/usr/bin/env bash
# Makes a release: make release VERSION=1.2.3 [PUBLISH=1] [SIGNING_KEY=FILE] [REMOTE=origin] [IMAGE_MIRROR=HOST] [PLUGIN_URL=URL]
#
# It works in a clone of the last commit, so the working tree stays as it is, and leaves everything in dist/release/. Without
# PUBLISH=1 nothing leaves this machine; what would be pushed is printed. docs/release.md tells the whole.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
version=${VERSION:?which version? make release VERSION=1.2.3}
remote=${REMOTE:-origin}
out=$root/dist/release
tag=v$version

say() { printf '\n=== %s\n' "$*"; }
fail() {
	echo "hack/release.sh: $*" >&2
	exit 1
}

# Everything that can be wrong is found before anything is built.
check() {
	[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "there are changes that are not committed: a release is made of a commit"
	! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "the tag $tag exists already"
	[ -n "$(notes Unreleased)" ] || fail "CHANGELOG.md has nothing under Unreleased"
	if [ -n "${SIGNING_KEY:-}" ]; then
		[ -f "$SIGNING_KEY" ] || fail "there is no key $SIGNING_KEY"
		SIGNING_KEY=$(cd "$(dirname "$SIGNING_KEY")" && pwd)/$(basename "$SIGNING_KEY")
	fi
	[ "${PUBLISH:-}" != 1 ] || git remote get-url "$remote" >/dev/null || fail "there is no remote $remote to push to"
}

# notes HEADING prints what stands under it in the changelog.
notes() {
	awk -v heading="## $1" '
		/^## / { inside = ($0 == heading || index($0, heading " - ") == 1); next }
		inside && (NF || seen) { seen = 1; print }' CHANGELOG.md
}

# prepare makes the commit of the release.
prepare() {
	say "Version $version"
	# What a final version replaces is a final one; from a candidate the range of the catalog leads to it.
	local previous finals=(--exclude '*-*')
	[[ $version != *-* ]] || finals=()
	previous=$(git describe --tags --abbrev=0 --match 'v[0-9]*' ${finals[@]+"${finals[@]}"} 2>/dev/null || true)
	git clone -q --no-hardlinks "$root" "$clone"
	# Tools that are built already need not be built again.
	mkdir -p "$clone/bin"
	local tool
	for tool in tools/*/; do
		tool=$(basename "$tool")
		[ ! -f "bin/.$tool.key" ] || cp -p "bin/$tool" "bin/.$tool.key" "$clone/bin/"
	done
	git -C "$clone" config user.name "$(git config user.name || echo aimodel-operator)"
	git -C "$clone" config user.email "$(git config user.email || echo release@localhost)"

	cd "$clone"
	hack/version.sh set "$version" "${IMAGE_TAG_BASE:-}"
	sed -i.bak "s/^PREVIOUS_VERSION ?=.*/PREVIOUS_VERSION ?= ${previous#v}/; /^PREVIOUS_VERSION/s/ *\$//" Makefile && rm -f Makefile.bak
	sed -i.bak "s/^\( *createdAt: \).*/\1\"$(date -u +%Y-%m-%d)T00:00:00Z\"/" config/manifests/bases/*.yaml && rm -f config/manifests/bases/*.bak
	sed -i.bak "s/^## Unreleased\$/## Unreleased\n\n## $version - $(date -u +%Y-%m-%d)/" CHANGELOG.md && rm -f CHANGELOG.md.bak
	pin
	make bundle
	hack/version.sh check
	git commit -q -a -m "Release $version"
	git tag -a "$tag" -m "aimodel-operator $version"
	git --no-pager show --stat --format='%h %s' HEAD
}

# pin finds out the digests of images that no release has named yet. They become part of the commit.
pin() {
	make pin-images IMAGE_MIRROR="${IMAGE_MIRROR:-}" && return
	[ "${PUBLISH:-}" != 1 ] || fail "the images of runtimes cannot be named by digest: see above, or set IMAGE_MIRROR=HOST"
	echo "  They stay named by tag, so this bundle says that it cannot be installed disconnected. To publish it, they have to be found."
}

# build makes all that is published. The images that run come first: what installs them names their digests.
build() {
	base=$(make -s show-IMAGE_TAG_BASE)
	REVISION=$(git rev-parse HEAD) # also when the bundle has got its digests
	export REVISION
	local pinned
	say "Images"
	make images IMAGES="manager scorecard"
	pinned=$base@$(bin/images digest -out dist/images manager)
	# Not committed: the commit's own images cannot be in it.
	make bundle IMG="$pinned" SCORECARD_IMG="$base-scorecard@$(bin/images digest -out dist/images scorecard)"
	make images IMAGES="bundle catalog"
	say "Manifests and chart"
	make installer IMG="$pinned"
	make chart
	say "The kubectl plugin"
	make plugin-dist
	files_url=$(make -s show-PLUGIN_URL)
}

collect() {
	say "dist/release"
	rm -rf "$out"
	mkdir -p "$out"
	cp dist/install.yaml dist/catalog/aimodel-operator/catalog.yaml dist/aimodel-operator-"$version".tgz dist/images/*.spdx.json "$out/"
	cp dist/plugin/*.tar.gz dist/plugin/aimodel.yaml "$out/" # their checksums are among those of all files, below
	notes "$version" >"$out/notes.md"
	bin/images list -base "$base" -version "$version" -out dist/images -digests >"$out/images.txt"
	cp -R dist/images "$out/images"
	rm -f "$out"/images/*.spdx.json
	# The layouts in images/ are addressed by their digests, which images.txt has.
	local files
	files=$(cd "$out" && find . -maxdepth 1 -type f | sed 's|^\./||' | LC_ALL=C sort)
	# shellcheck disable=SC2086 # a list of words
	(cd "$out" && checksum $files >checksums.txt)
	[ -z "${SIGNING_KEY:-}" ] || sign
	(cd "$out" && ls -l && cat checksums.txt)
}

checksum() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# sign signs the checksums, and through them all files, with a key of OpenSSH: `ssh-keygen -t ed25519` makes one.
sign() {
	rm -f "$out/checksums.txt.sig"
	ssh-keygen -q -Y sign -f "$SIGNING_KEY" -n aimodel-operator-release "$out/checksums.txt"
}

publish() {
	if [ "${PUBLISH:-}" != 1 ]; then
		say "This was a dry run. With PUBLISH=1 it pushes"
		cat "$out/images.txt"
		echo "oci://$(dirname "$base")/charts/aimodel-operator:$version"
		echo "the commit $(git rev-parse --short HEAD) and the tag $tag to $remote ($(git -C "$root" remote get-url "$remote" 2>/dev/null || echo "which is not set"))"
		uploads "After that, upload"
		return
	fi
	say "Publishing"
	make push push-chart
	# The tag is last: whoever sees it finds the images.
	local branch
	branch=$(git rev-parse --abbrev-ref HEAD)
	git push --atomic "$(git -C "$root" remote get-url "$remote")" "HEAD:refs/heads/$branch" "refs/tags/$tag"
	uploads "Now upload"
}

# uploads prints what no push brings anywhere: the files, and first those that the Krew manifest says are at an address.
uploads() {
	echo "$1 the files of dist/release to $files_url, where Krew is going to look for these:"
	(cd "$out" && grep '\.tar\.gz$' checksums.txt)
}

main() {
	check
	work=$(mktemp -d)
	clone=$work/aimodel-operator
	trap 'rm -rf "$work"' EXIT
	# What was given to make on the command line would win over what the release sets.
	unset MAKEFLAGS MAKEOVERRIDES MAKELEVEL VERSION
	prepare
	build
	collect
	publish
}

main
