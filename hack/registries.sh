#!/usr/bin/env bash
# Installs the model registries that tests run against, as far as this machine allows: Debian packages as root, packages of
# npm and PyPI, and what is built from the Go module proxy. Says what is missing in the end and how to get it, and is content:
# the tests say so again. What is installed already is left as it is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

missing=()
quietly() { "$@" >"$log" 2>&1 || { tail -n 5 "$log"; return 1; }; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# debian PACKAGE... installs packages where that is possible.
debian() {
	command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 1
	echo "  APT   $*"
	export DEBIAN_FRONTEND=noninteractive
	quietly timeout 300 apt-get update -qq
	quietly timeout 300 apt-get install -y -qq --no-install-recommends "$@"
}

command -v docker-registry >/dev/null || debian docker-registry ||
	missing+=("OCI: docker-registry; on Debian: apt-get install docker-registry")

{ command -v node >/dev/null && command -v npm >/dev/null; } || debian nodejs npm || missing+=("Webhook: node and npm; on Debian: apt-get install nodejs npm")

# npm: what the lock file says, and again only when it has changed.
receiver=test/webhook-receiver
if command -v npm >/dev/null && ! cmp -s $receiver/package-lock.json $receiver/node_modules/.installed-lock; then
	echo "  NPM   $receiver"
	if (cd $receiver && quietly timeout 300 npm ci --no-audit --no-fund); then
		cp $receiver/package-lock.json $receiver/node_modules/.installed-lock
	else
		missing+=("Webhook: the packages of $receiver; with a network: cd $receiver && npm ci")
	fi
fi

# MLflow's server with what it needs to run, and without what only its client library uses.
mlflow=bin/registries/mlflow
requirements=test/registries/servers/mlflow-requirements.txt
if ! cmp -s $requirements $mlflow/installed.txt; then
	echo "  PIP   $mlflow (about 20 seconds)"
	rm -rf $mlflow
	mkdir -p "$(dirname $mlflow)"
	if quietly python3 -m venv $mlflow &&
		quietly timeout 600 $mlflow/bin/pip install --no-deps --no-compile --disable-pip-version-check -r $requirements; then
		cp $requirements $mlflow/installed.txt
	else
		missing+=("MLflow: it needs python3 with venv, and PyPI; or set MLFLOW to an mlflow program of version 3")
	fi
fi

# The Kubeflow Model Registry only where it is asked for: building and testing it takes some minutes.
case " ${REQUIRE_REGISTRIES:-} " in
*" kubeflow "*)
	{ [ -x /usr/sbin/mariadbd ] && command -v my_print_defaults >/dev/null; } || debian mariadb-server-core mariadb-client-core ||
		missing+=("Kubeflow Model Registry: its database; on Debian: apt-get install mariadb-server-core mariadb-client-core")
	hack/build-tool.sh model-registry || missing+=("Kubeflow Model Registry: its server, which is built from the Go module proxy")
	;;
esac

if [ ${#missing[@]} -gt 0 ]; then
	printf '\n  These registries cannot be tested against here:\n'
	printf '    %s\n' "${missing[@]}"
fi
