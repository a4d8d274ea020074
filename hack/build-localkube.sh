#!/usr/bin/env bash
# Builds localkube (see test/localkube/README.md) into bin/, once: a second call with the same sources returns at once.
# Needs only Go, bash and coreutils. On Linux as root it also builds the container runtime of the real node.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/bin
export CGO_ENABLED=0 # static binaries; and the compile cache is shared with the operator's own build

case $(uname -s) in
Linux) linux=1 ;;
*) linux=0 ;;
esac

# checksum prints a digest of its standard input; macOS has no sha256sum.
checksum() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1
}

# digest FILE-PATTERN-ARGS... prints one digest of the files that `find` is asked for, and of the Go version.
digest() {
  { go version; find "$@" -type f -print0 | sort -z | xargs -0 cat; } | checksum
}

# fresh NAME DIGEST says whether bin/ holds what was built from these sources.
fresh() {
  [ "$(cat "$bin/.$1.key" 2>/dev/null)" = "$2" ]
}

# build LABEL PACKAGE... runs `go build -v` with the arguments in $flags and shows how far it is: -v names each package as
# it is compiled, and what is cached already is not named.
build() {
  local label=$1 log total start pid status
  shift
  log=$(mktemp)
  total=$(go list -deps ${tags:+-tags "$tags"} "$@" | wc -l | tr -d ' ')
  start=$SECONDS
  go build -v ${tags:+-tags "$tags"} -ldflags "$ldflags" -o "$output" "$@" >"$log" 2>&1 &
  pid=$!
  trap 'kill "$pid" 2>/dev/null || true; rm -f "$log"' EXIT
  trap 'exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 1
    done
    kill -0 "$pid" 2>/dev/null || break
    printf '%s: %d min %02d s, %d packages compiled (of at most %d)\n' "$label" \
      $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) "$(grep -c '^[a-z]' "$log" || true)" "$total" >&2
  done
  status=0
  wait "$pid" || status=$?
  if [ "$status" -ne 0 ]; then
    grep -v '^[a-z0-9.]*/[^ :]*$' "$log" | tail -n 40 >&2
    echo "$label: the build failed" >&2
    exit "$status"
  fi
  trap - EXIT INT TERM
  rm -f "$log"
  echo "$label: built in $((SECONDS - start)) s" >&2
}

mkdir -p "$bin"

cd "$root/test/localkube"
version=$(sed -n 's/^[[:space:]]*k8s.io\/kubernetes \(v[0-9.]*\).*/\1/p' go.mod)
key=$(digest . \( -name '*.go' -o -name '*.yaml' -o -name go.mod -o -name go.sum \) -not -path './containerd/*' -not -name '*_test.go')
if ! fresh localkube "$key"; then
  echo "localkube: building Kubernetes $version. The first build takes about 10 to 20 minutes on 2 cores, a later one half a minute." >&2
  IFS=. read -r major minor _ <<<"${version#v}"
  info=k8s.io/component-base/version
  tags='' ldflags="-s -w -X $info.gitVersion=$version -X $info.gitMajor=$major -X $info.gitMinor=$minor" output=$bin/localkube.new build localkube .
  mv "$bin/localkube.new" "$bin/localkube" # whole or not at all, also while the old one runs
  for program in kubectl etcd kube-apiserver kube-controller-manager kube-scheduler kwok; do
    ln -sf localkube "$bin/$program"
  done
  if [ $linux = 1 ]; then
    ln -sf localkube "$bin/kubelet"
    go build -ldflags '-s -w' -o "$bin/localkube-pause" ./pause
  fi
  echo "$key" >"$bin/.localkube.key"
fi

if [ $linux = 1 ] && [ "$(id -u)" = 0 ]; then
  cd containerd
  key=$(digest . \( -name go.mod -o -name go.sum \))
  if ! fresh containerd "$key"; then
    echo "containerd: building the real node's container runtime. The first build takes about 2 to 4 minutes on 2 cores." >&2
    cmd=github.com/containerd/containerd/v2/cmd
    scratch=$(mktemp -d "$bin/containerd.XXXXXX")
    tags=no_btrfs,no_devmapper,no_zfs ldflags='-s -w' output=$scratch/ build containerd $cmd/containerd $cmd/containerd-shim-runc-v2 $cmd/ctr
    mv "$scratch"/* "$bin/"
    rmdir "$scratch"
    echo "$key" >"$bin/.containerd.key"
  fi
fi
