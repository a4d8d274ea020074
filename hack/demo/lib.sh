# shellcheck shell=bash disable=SC2034,SC2154 # hack/demo.sh sets and uses the other ends of these variables
# What hack/demo.sh is made of: how it talks, waits, checks and cleans up. Read by it with `source`; it sets $root,
# $dir, $short and $keep first. It also has to run on bash 3.2.

bold="" dim="" green="" red="" plain=""
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

# marker is a file in the demo's folder. Only a folder that has it is ever deleted.
marker=.aimodel-operator-demo
step_names=()
step_seconds=()
step_begin=0
manager_pid=""

say() { printf '  %s\n' "$*"; }
good() { printf '  %sok%s    %s\n' "$green" "$plain" "$*"; }

# step TITLE begins a step and ends the one before.
step() {
	end_step
	step_names+=("$1")
	step_begin=$SECONDS
	printf '\n%s%d. %s%s\n' "$bold" "${#step_names[@]}" "$1" "$plain"
}

end_step() {
	[ "${#step_names[@]}" -gt "${#step_seconds[@]}" ] || return 0
	step_seconds+=($((SECONDS - step_begin)))
}

summary() {
	local i
	end_step
	printf '\n%sEverything is as expected.%s It took %d s:\n' "$bold$green" "$plain" "$SECONDS"
	for ((i = 0; i < ${#step_names[@]}; i++)); do
		printf '  %4d s  %s\n' "${step_seconds[$i]}" "${step_names[$i]}"
	done
}

# show prints a command as one would type it.
show() {
	local word line=""
	for word in "$@"; do
		case $word in
		*[!A-Za-z0-9_./:=,@%+-]*) line+=" '$word'" ;;
		*) line+=" $word" ;;
		esac
	done
	printf '  %s$%s%s\n' "$dim" "$line" "$plain"
}

# run shows a command and runs it, its output indented.
run() {
	show "$@"
	"$@" 2>&1 | sed 's/^/    /' || fail "that command failed"
}

# fail ends the demo. What was going on is shown, as far as the cluster still answers.
fail() {
	set +e # what cannot be shown must not hide the rest
	printf '\n%sFAIL%s  %s\n' "$red" "$plain" "$*"
	dump >&2
	exit 1
}

dump() {
	if [ -n "${KUBECONFIG:-}" ] && kubectl get --raw /readyz --request-timeout=5s >/dev/null 2>&1; then
		printf '\n--- objects\n'
		kubectl get aim,infsvc,deployments,replicasets,services,pods -o wide
		printf '\n--- conditions\n'
		kubectl get aim,infsvc -o jsonpath="$conditions_of_all"
		printf '\n--- latest events\n'
		kubectl get events --sort-by=.lastTimestamp | tail -n 20
		printf '\n--- nodes\n'
		kubectl get nodes
	fi
	if [ -s "$dir/manager.log" ]; then
		printf '\n--- end of the log of the operator\n'
		tail -n 25 "$dir/manager.log"
	fi
	if [ -d "$dir/cluster/logs" ] && [ "$keep" != 1 ]; then
		printf '\nWith KEEP=1 the demo is left as it failed, to look around.\n'
	fi
}

# expect WHAT ACTUAL WANTED
expect() {
	[ "$2" = "$3" ] || fail "$1: got \"$2\", expected \"$3\""
	good "$1: $2"
}

# expect_text WHAT TEXT PART
expect_text() {
	case $2 in
	*"$3"*) good "$1" ;;
	*) fail "$1: there is no \"$3\" in \"$2\"" ;;
	esac
}

# value RESOURCE JSONPATH
value() { kubectl get "$1" -o jsonpath="$2"; }

ready='.status.conditions[?(@.type=="Ready")]'
# state prints Ready, available, wanted, generation, observed generation, reason and message, parted by |.
state() {
	value "$1" "{${ready}.status}|{.status.availableReplicas}|{.spec.replicas}|{.metadata.generation}|{.status.observedGeneration}|{${ready}.reason}|{${ready}.message}"
}

conditions_of_all='{range .items[*]}{.kind}/{.metadata.name}{"\n"}{range .status.conditions[*]}  {.type}={.status} {.reason}: {.message}{"\n"}{end}{end}'

# await RESOURCE READY REASON [TIMEOUT] polls until the condition Ready has that status and reason for the current
# generation, and prints a line whenever something changed. Ready and True also wants all replicas to be available.
await() {
	local resource=$1 status=$2 reason=$3 limit=${4:-$patience}
	local begin=$SECONDS line="" last="" now available wanted generation observed why message
	while :; do
		operator_lives
		if ! line=$(state "$resource" 2>&1); then
			line="|||||Unreachable|$line"
		fi
		IFS='|' read -r now available wanted generation observed why message <<<"$line" || true
		if [ "$now|$available|$wanted|$why|$message" != "$last" ]; then
			last="$now|$available|$wanted|$why|$message"
			progress $((SECONDS - begin)) "$now" "$available" "$wanted" "$why" "$message"
		fi
		if [ "$now" = "$status" ] && [ "$why" = "$reason" ] && [ "$generation" = "$observed" ]; then
			[ "$now/$why" = True/Ready ] && [ "$available" != "$wanted" ] || return 0
		fi
		if [ $((SECONDS - begin)) -ge "$limit" ]; then
			fail "$resource is not Ready=$status ($reason) after $limit s"
		fi
		sleep "$interval"
	done
}

progress() {
	local seconds=$1 now=$2 available=${3:-0} wanted=$4 why=$5 message=$6
	printf '  %s%4d s  Ready=%s  %s of %s available  %s%s%s\n' \
		"$dim" "$seconds" "${now:-?}" "$available" "${wanted:-?}" "${why:-no status yet}" "${message:+: $message}" "$plain"
}

# until_true WHAT COMMAND... polls until the command succeeds.
until_true() {
	local what=$1 begin=$SECONDS
	shift
	until "$@"; do
		operator_lives
		[ $((SECONDS - begin)) -lt "$patience" ] || fail "$what: not within $patience s"
		sleep "$interval"
	done
	good "$what"
}

operator_lives() {
	kill -0 "$manager_pid" 2>/dev/null || fail "the operator ended by itself"
}

# free_port prints a port of 127.0.0.1 that nobody listens on.
free_port() {
	local port
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		port=$((20000 + RANDOM % 12000))
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	return 1
}

# answers_200 PORT PATH; without curl, which a fresh machine may lack.
answers_200() {
	local status=""
	status=$(
		exec 2>/dev/null # the refusals of a server that does not listen yet
		exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
		printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
		head -n 1 <&3
	) || return 1
	case $status in
	*" 200 "*) return 0 ;;
	*) return 1 ;;
	esac
}

# is_manager PID: a process id may have gone to somebody else since it was written down.
is_manager() {
	case $(ps -p "$1" -o args= 2>/dev/null) in
	*"$root/bin/manager"*) return 0 ;;
	*) return 1 ;;
	esac
}

stop_manager() {
	local pid=${1:-} i
	[ -n "$pid" ] && is_manager "$pid" || return 0
	kill -TERM "$pid" 2>/dev/null || return 0
	for ((i = 0; i < 100; i++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
}

# take_down stops the operator and the cluster and deletes what they wrote. It does no harm when nothing runs.
take_down() {
	local pid=""
	[ -e "$dir/$marker" ] || return 0
	[ ! -f "$dir/manager.pid" ] || read -r pid <"$dir/manager.pid" || true
	stop_manager "$pid"
	if [ -e "$dir/cluster" ] && ! "$root/bin/localkube" down --dir "$dir/cluster" >"$dir/down.log" 2>&1; then
		cat "$dir/down.log"
		say "The cluster in $dir/cluster could not be stopped."
		return 1
	fi
	# Should a container's mount be left below, what it shows stays.
	case $(uname) in
	Linux) rm -rf --one-file-system "$dir" ;;
	*) rm -rf "$dir" ;;
	esac
}
