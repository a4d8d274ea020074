#!/usr/bin/env bash
# Shows the operator at work on a control plane of its own: a model is served, asked, scaled; one on GPUs is placed; one
# that cannot start says why. `make demo` builds what is needed and runs it. Every step is checked: it ends with 0 only
# if all went as it says.
#
#   hack/demo.sh        run it
#   hack/demo.sh down   take down what KEEP=1 left running
#
#   KEEP=1              leave everything running at the end, and say how to look around
#   DEMO_SHORT=1        no pauses between the steps (for CI)
#   DEMO_DIR=DIR        where the cluster keeps its data while it runs
#   DEMO_REAL_NODE=off  simulate all pods, also where they could really run
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

dir=${DEMO_DIR:-${TMPDIR:-/tmp}/aimodel-demo.$UID}
[[ $dir = /* ]] || dir=$PWD/$dir
keep=${KEEP:-0}
short=${DEMO_SHORT:-0}
patience=180 # seconds that any one wait may take
interval=1   # seconds between two looks
[ "$short" != 1 ] || interval=0.5
cd "$root"
unset KUBECONFIG
export KUBECACHEDIR="$dir/kubectl-cache" # what kubectl learns about this cluster is of no use later
export PATH="$root/bin:$PATH"

# shellcheck source=hack/demo/lib.sh
source hack/demo/lib.sh

name=my-sentiment
path=/v1/inference/sentiment
real_node=false

main() {
	case ${1:-} in
	"") ;;
	down)
		take_down
		say "The demo is gone."
		return
		;;
	*)
		sed -n '/^#   /s/^#   //p' "$0" >&2
		exit 2
		;;
	esac
	check_parts
	claim_dir
	trap on_exit EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP

	start_cluster
	start_operator
	serve_a_model
	[ "$real_node" != true ] || ask_the_model
	scale_the_model
	serve_on_gpus
	ask_for_too_much
	repair_it
	[ "$keep" = 1 ] || delete_all
	summary
	[ "$keep" != 1 ] || look_around
}

check_parts() {
	local part
	for part in localkube kubectl kubectl-aimodel manager modelserver; do
		if [ ! -x "bin/$part" ]; then
			echo "There is no bin/$part. \`make demo\` builds everything and runs the demo." >&2
			exit 1
		fi
	done
}

claim_dir() {
	local pid=""
	if [ -e "$dir" ] && { [ ! -O "$dir" ] || [ ! -e "$dir/$marker" ]; }; then
		echo "$dir exists and is not from the demo. Choose another folder: DEMO_DIR=DIR make demo" >&2
		exit 1
	fi
	[ ! -f "$dir/manager.pid" ] || read -r pid <"$dir/manager.pid" || true
	if [ -n "$pid" ] && is_manager "$pid"; then
		echo "The demo is running already, in $dir. \`make demo-down\` ends it." >&2
		exit 1
	fi
	take_down # what a killed run left behind
	mkdir -p "$dir"
	chmod 700 "$dir"
	: >"$dir/$marker"
}

on_exit() {
	local code=$?
	# A second Ctrl-C must not leave half of it running.
	trap '' INT TERM HUP
	trap - EXIT
	if [ "$keep" = 1 ] && [ "$code" -lt 128 ] && [ -f "$dir/cluster/kubeconfig" ]; then
		[ "$code" = 0 ] || look_around
		exit "$code"
	fi
	printf '\n'
	say "Cleaning up ..."
	take_down || [ "$code" != 0 ] || code=1
	exit "$code"
}

pause() {
	if [ "$short" != 1 ] && [ -t 1 ]; then
		sleep 1
	fi
}

start_cluster() {
	step "Start a Kubernetes control plane with two simulated nodes of 8 H100 GPUs"
	local args=(up --dir "$dir/cluster" --detach --real-node "${DEMO_REAL_NODE:-auto}"
		--node "name=h100,count=2,gpus=8,product=NVIDIA-H100-80GB-HBM3,memory=80Gi")
	show localkube "${args[@]}"
	localkube "${args[@]}" 2>&1 | sed '/^ready /d; /Stop it with/d; s/^/    /' || fail "the control plane does not start"
	export KUBECONFIG="$dir/cluster/kubeconfig"
	local facts="$dir/cluster/localkube.json" reason
	if grep -Eq '"realNode": *true' "$facts"; then
		real_node=true
	else
		reason=$(sed -n 's/.*"realNodeReason": *"\(.*\)".*/\1/p' "$facts")
		say "Pods are simulated only${reason:+ ($reason)}: they start and stop, but nobody answers, so the question is left out."
	fi
	run kubectl get nodes -L nvidia.com/gpu.product,nvidia.com/gpu.count
	expect "simulated GPU nodes" "$(kubectl get nodes -l type=kwok --no-headers | grep -c ' Ready ')" 2
}

start_operator() {
	step "Install the definitions and start the operator"
	run kubectl apply -f config/crd/bases
	run kubectl wait --for=condition=Established --timeout=60s -f config/crd/bases
	local port
	port=$(free_port)
	local args=(--leader-elect=false --metrics-bind-address=0 "--health-probe-bind-address=127.0.0.1:$port")
	show manager "${args[@]}"
	# A process group of its own keeps Ctrl-C from it: the operator goes when the demo has cleaned up, not before.
	set -m
	"$root/bin/manager" "${args[@]}" >"$dir/manager.log" 2>&1 </dev/null &
	manager_pid=$!
	set +m
	echo "$manager_pid" >"$dir/manager.pid"
	until_true "the operator is ready" answers_200 "$port" /readyz
}

serve_a_model() {
	step "Serve a model: one AIModel with an image"
	if [ "$real_node" = true ]; then
		run localkube image load --dir "$dir/cluster" --ref registry.local/sentiment:v1 bin/modelserver
	fi
	show cat hack/demo/sentiment.yaml
	sed 's/^/    /' hack/demo/sentiment.yaml
	run kubectl apply -f hack/demo/sentiment.yaml
	await "aim/$name" True Ready
	run kubectl get aim,deployment,service,pods
	expect "its address" "$(value "aim/$name" '{.status.inferenceURL}')" "http://$name.default.svc.cluster.local:80$path"
	pause
}

# ask TEXT prints the answer. The API server passes the request on to one of the pods of the Service.
ask() { kubectl get --raw "/api/v1/namespaces/default/services/$name:80/proxy$path?text=$1"; }

ask_the_model() {
	step "Send it a sentence, through the API server's service proxy"
	local answer
	show kubectl get --raw "/api/v1/namespaces/default/services/$name:80/proxy$path?text=I+love+it,+the+new+model+is+great"
	answer=$(ask "I+love+it,+the+new+model+is+great") || fail "it does not answer: $answer"
	printf '    %s%s%s\n' "$bold" "$answer" "$plain"
	expect_text "the model finds that positive" "$answer" '"label":"positive"'
	answer=$(ask "This+is+a+horrible+disaster") || fail "it does not answer: $answer"
	expect_text "and \"This is a horrible disaster\" negative" "$answer" '"label":"negative"'
	pause
}

scale_the_model() {
	step "Scale it like any Deployment"
	run kubectl scale "aim/$name" --replicas=3
	await "aim/$name" True Ready
	run kubectl get aim "$name"
	expect "pods, as the model's status counts them" "$(value "aim/$name" '{.status.replicas}')" 3
	expect "ready pods of the Deployment" "$(value "deployment/$name" '{.status.readyReplicas}')" 3
	if [ "$real_node" = true ]; then
		local i pods
		pods=$(for ((i = 0; i < 15; i++)); do ask good | sed 's/.*"servedBy":"\([^"]*\)".*/\1/'; done | sort | uniq -c)
		say "Who answered 15 questions:"
		printf '%s\n' "$pods"
		[ "$(printf '%s\n' "$pods" | wc -l)" -gt 1 ] || fail "all answers came from one pod"
		good "the pods share the work"
	fi
	pause
}

serve_on_gpus() {
	step "Serve an LLM on GPUs: an InferenceService, two replicas of two GPUs each (simulated pods)"
	show cat hack/demo/llama.yaml
	sed 's/^/    /' hack/demo/llama.yaml
	run kubectl apply -f hack/demo/llama.yaml
	await infsvc/llama True Ready
	expect "the model itself runs nothing" "$(value aim/llama-3-8b "{${ready}.reason}")" Catalogued
	run kubectl get infsvc llama
	run kubectl get deployment llama-server -o wide
	run kubectl get pods -l ai.example.com/inferenceservice=llama \
		-o "custom-columns=POD:.metadata.name,PHASE:.status.phase,NODE:.spec.nodeName,GPUS:.spec.containers[0].resources.limits.nvidia\.com/gpu"
	expect "GPUs of each pod" "$(value deployment/llama-server '{.spec.template.spec.containers[0].resources.limits.nvidia\.com/gpu}')" 2
	local nodes
	nodes=$(kubectl get pods -l ai.example.com/inferenceservice=llama -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}')
	expect "pods on GPU nodes" "$(printf '%s\n' "$nodes" | grep -c '^h100-')" 2
	pause
}

ask_for_too_much() {
	step "Ask for what there is not: 16 GPUs in one pod, where a node has 8"
	run kubectl apply -f hack/demo/too-big.yaml
	await infsvc/llama-too-big False Unschedulable
	run kubectl get infsvc
	run kubectl aimodel why llama-too-big
	expect_text "the cause is marked" "$(kubectl aimodel why llama-too-big)" "Unschedulable  ◀ the cause"
	until_true "there is an event that says so" has_event llama-too-big Unschedulable
	kubectl describe infsvc llama-too-big | sed -n '/^Events:/,$s/^/    /p'
	expect_text "the reason has the scheduler's words" "$(value infsvc/llama-too-big "{${ready}.message}")" "Insufficient nvidia.com/gpu"
	pause
}

# has_event INFERENCESERVICE REASON
has_event() {
	[ -n "$(kubectl get events --field-selector "involvedObject.kind=InferenceService,involvedObject.name=$1,reason=$2" -o name)" ]
}

repair_it() {
	step "Ask for less: it heals by itself"
	run kubectl patch infsvc llama-too-big --type=merge -p '{"spec":{"accelerator":{"count":4}}}'
	await infsvc/llama-too-big True Ready
	run kubectl get ai
	pause
}

delete_all() {
	step "Delete them: nothing stays behind"
	run kubectl delete infsvc,aim --all --timeout=60s
	say "(Kubernetes' garbage collector takes the rest away. It notices kinds that are new to it every 30 s.)"
	until_true "no Deployment, Service, HPA, PDB or ServiceAccount of theirs is left" nothing_left
}

nothing_left() {
	[ -z "$(kubectl get deployments,services,serviceaccounts,hpa,pdb -l app.kubernetes.io/managed-by=aimodel-operator -o name)" ]
}

look_around() {
	cat <<EOF

${bold}It is left running.${plain} To look around:

  export KUBECONFIG=$KUBECONFIG PATH=$root/bin:\$PATH
  kubectl get ai                               what there is, and how it is
  kubectl aimodel why llama                    everything that belongs to one, and what is in its way
  kubectl aimodel status                       all of them, with their GPUs
  kubectl scale aim/$name --replicas=2
  kubectl get pods -A -o wide
  tail -f $dir/manager.log

${bold}${DEMO_DIR:+DEMO_DIR=$dir }make demo-down${plain} ends it.
EOF
}

main "$@"
