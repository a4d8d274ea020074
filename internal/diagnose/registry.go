package diagnose

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Entry is one reason: what it means, what to do about it, and how it is recognised.
type Entry struct {
	// Reason is one of the reasons of package api/v1.
	Reason string
	// Meaning says in a sentence what has happened.
	Meaning string
	// Advice says what to do, to whoever owns the model or the cluster.
	Advice string
	// Example is a message of a finding of this reason; a test makes it from facts. Empty for a reason of a step.
	Example string
	// Advisory says that a finding of this reason keeps nothing from being up.
	Advisory bool
	// Behind says that its message is told behind that of the primary finding, because it may be the cause of that one.
	Behind bool

	// One of these recognises it; none does for a reason that a step of the reconcile gives by itself. Each is asked only when
	// no earlier entry has recognised the same container or pod.
	container func(*container) *Finding
	pod       func(*Facts, *corev1.Pod) *Finding
	workload  func(*Facts) *Finding
}

// Entries lists all reasons, the most telling first.
func Entries() []Entry { return slices.Concat(table, steps) }

// Lookup finds the entry of a reason.
func Lookup(reason string) (Entry, bool) {
	for _, entries := range [][]Entry{table, steps} {
		if i := slices.IndexFunc(entries, func(entry Entry) bool { return entry.Reason == reason }); i >= 0 {
			return entries[i], true
		}
	}
	return Entry{}, false
}

// rank is the place of a reason in the table: what stands earlier is told when pods disagree. A crash is worth more than a pod
// that waits for a node, because the crash will meet that pod too.
func rank(reason string) int {
	return slices.IndexFunc(table, func(entry Entry) bool { return entry.Reason == reason })
}

// table has the reasons that facts give.
var table = []Entry{{
	Reason:  aiv1.ReasonOOMKilled,
	Meaning: "The container used more memory than its limit, or than its node had, and was killed.",
	Advice: "Raise the memory in `spec.resources`, or make the server use less: a shorter context, a smaller batch, quantised weights. " +
		"While weights are loaded, a server may need twice their size.",
	Example:   `container "server" was killed for using more memory than its limit of 1Gi`,
	container: oomKilled,
}, {
	Reason:    aiv1.ReasonImagePlatformMismatch,
	Meaning:   "The image is not made for the processor architecture of the node.",
	Advice:    "Use an image that has this architecture, or choose nodes of the image's by `kubernetes.io/arch` in `spec.placement.nodeSelector`.",
	Example:   `image "acme/server:2" cannot be pulled: no match for platform in manifest: not found`,
	container: wrongPlatform,
}, {
	Reason:  aiv1.ReasonLivenessFailing,
	Meaning: "The kubelet killed the container because its liveness probe failed; its exit code comes from that.",
	Advice: "Find out why the server stopped answering on its health path: its log ends with what it did last. If it was only busy, give " +
		"`probes.liveness` in `spec.chartValues` more time, or turn that probe off.",
	Example:   `container "server" was killed because its liveness probe failed: HTTP probe failed with statuscode: 503`,
	container: livenessFailing,
}, {
	Reason: aiv1.ReasonStartupProbeFailing,
	Meaning: "The server was not up within the time that a start may take, and was killed for it; or half of that time has passed, " +
		"and it is still not up.",
	Advice: "If it still loads the weights, raise `startup.budgetSeconds` in `spec.chartValues`. If it is up, check that the health path and the port " +
		"are those that it serves.",
	Example:   `container "server" was killed because it did not pass its startup probe within 30m0s: HTTP probe failed with statuscode: 503`,
	container: startupFailing,
}, {
	Reason:  aiv1.ReasonCrashLoop,
	Meaning: "The container ends by itself, and is started again at growing intervals.",
	Advice: "Read the log of its last run (`kubectl logs --previous`). Common causes are an argument that the server does not know, weights that it " +
		"cannot read, and a driver that is too old for it.",
	Example:   `container "server" ended with exit code 1: ValueError: no such model`,
	container: crashLoop,
}, {
	Reason:    aiv1.ReasonContainerConfig,
	Meaning:   "The kubelet cannot set the container up: a Secret, a ConfigMap or a key that it names is missing, or its image wants to be root.",
	Advice:    "Create what the message names, in the namespace of the object. For an image that runs as root, set another user in the security context.",
	Example:   `container "server" cannot be set up: secret "token" not found`,
	container: containerConfig,
}, {
	Reason:    aiv1.ReasonInvalidImageName,
	Meaning:   "The name of the image is not one.",
	Advice:    "Correct the image: `registry/repository:tag`, in small letters.",
	Example:   `image "acme/Server:2" has an invalid name: couldn't parse image name: invalid reference format`,
	container: invalidImageName,
}, {
	Reason:  aiv1.ReasonImageUnauthorized,
	Meaning: "The registry does not let the image be pulled with the credentials that the pods have.",
	Advice: "Create a docker-config Secret (`kubectl create secret docker-registry`) and name it in `spec.credentialsRef` of the AIModel, or " +
		"check that the one that is named may read this repository. Some registries answer so for a repository that does not exist.",
	Example:   `image "acme/server:2" cannot be pulled: failed to authorize: failed to fetch anonymous token: 401 Unauthorized`,
	container: pullFails(aiv1.ReasonImageUnauthorized),
}, {
	Reason:    aiv1.ReasonImageNotFound,
	Meaning:   "The registry has no such image, or the node has not and may not pull it.",
	Advice:    "Check the name and the tag or digest of the image. Pushed only just now, it is found at the next try, within five minutes.",
	Example:   `image "acme/server:2" cannot be pulled: failed to resolve reference "docker.io/acme/server:2": docker.io/acme/server:2: not found`,
	container: pullFails(aiv1.ReasonImageNotFound),
}, {
	Reason:  aiv1.ReasonRegistryUnreachable,
	Meaning: "The node does not reach the registry, does not trust it, or is turned away because it asks too often.",
	Advice: "Check from a node that the registry's name resolves and that its port answers; a proxy, a firewall or a missing certificate authority " +
		"are common causes. Against rate limits, pull with credentials or through a mirror.",
	Example:   `image "acme/server:2" cannot be pulled: failed to do request: Head "https://registry.acme.example/v2/": dial tcp 192.0.2.1:443: connect: connection refused`,
	container: pullFails(aiv1.ReasonRegistryUnreachable),
}, {
	Reason:    aiv1.ReasonImagePull,
	Meaning:   "The image cannot be pulled, for a reason that is none of those above.",
	Advice:    "The message has the words of the container runtime; `kubectl describe pod` may have more.",
	Example:   `image "acme/server:2" cannot be pulled: image pull failed for acme/server:2 because the signature validation failed`,
	container: pullFails(aiv1.ReasonImagePull),
}, {
	Reason:  aiv1.ReasonAcceleratorUnhealthy,
	Meaning: "A node has the accelerators that are asked for, and its device plugin does not hand them out.",
	Advice: "Look at the device plugin's pod on the node and at the accelerators themselves (for NVIDIA: `nvidia-smi`, and Xid errors in the kernel log). " +
		"Drain the node, and reset or replace what is broken.",
	Example: `the device plugin does not hand out the accelerators of a node: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected`,
	pod:     acceleratorUnhealthy,
}, {
	Reason:  aiv1.ReasonVolumeNotBound,
	Meaning: "A claim that the pods mount does not exist, or no volume has been found or made for it.",
	Advice: "Create the claim in the namespace of the object, or see in `kubectl describe pvc` what its storage class waits for. A claim without a " +
		"storage class needs a default one in the cluster, or a volume that fits.",
	Example: `the claim "weights" that holds what the pods mount does not exist`,
	pod:     volumeNotBound,
}, {
	Reason:  aiv1.ReasonVolumeMountFailed,
	Meaning: "The node cannot attach or mount a volume of the pods.",
	Advice: "The message has the node's words. A volume that is attached elsewhere (ReadWriteOnce) frees when that pod is gone; for another one, check the " +
		"storage driver on the node, or that the Secret or ConfigMap that it is made from exists.",
	Example: `a volume cannot be mounted: MountVolume.SetUp failed for volume "weights" : mount failed: exit status 32`,
	pod:     volumeMountFailed,
}, {
	Reason:  aiv1.ReasonSandboxFailed,
	Meaning: "The node cannot set up the pods' sandbox, mostly for their network.",
	Advice:  "Look at the network plugin's pod on the node; it may have run out of addresses. Other pods on that node fail alike.",
	Example: `the node cannot set up a replica: failed to setup network for sandbox: no IP addresses available in range set`,
	pod:     sandboxFailed,
}, {
	Reason:  aiv1.ReasonNodeRefused,
	Meaning: "A node refused a pod that the scheduler had sent to it, because it has less than the scheduler believes, or shuts down.",
	Advice:  "Another pod takes its place by itself. If that one is refused as well, the node reports more than it has: restart its kubelet, or drain it.",
	Example: `a node refused a replica (OutOfcpu): Node didn't have enough resource: cpu, requested: 4000, used: 5000, capacity: 8000`,
	pod:     nodeRefused,
}, {
	Reason:  aiv1.ReasonNodeLost,
	Meaning: "The node of a replica is gone or does not report any more.",
	Advice: "Nothing has to be done for the replica: it is started elsewhere five minutes after its node was lost, if there is room. To have that at once, delete the " +
		"node, or taint it with `node.kubernetes.io/out-of-service` if it holds volumes.",
	Example: `the node "gpu-1" of a replica is not ready`,
	pod:     nodeLost,
}, {
	Reason:  aiv1.ReasonRolloutBlocked,
	Meaning: "No node has room for a pod of the new revision. The old revision goes on serving.",
	Advice: "Make room: scale something down, add a node, or delete a pod of the old revision if a pause is acceptable. With " +
		"`rollout.replaceInPlace` in `spec.chartValues` an old pod always goes first.",
	Example: `the old revision goes on serving, for no node can take a replica of the new one: 0/1 nodes are available: 1 Insufficient cpu. A replica asks for 8 cpu`,
	pod:     rolloutBlocked,
}, {
	Reason:  aiv1.ReasonUnschedulable,
	Meaning: "The scheduler finds no node for a replica.",
	Advice: "Compare what a replica asks for with what the nodes have. Ask for less, free what others hold, or add a node; if it may use no node, " +
		"correct the node selector and tolerations in `spec.placement`.",
	Example: `no node can take a replica: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu. A replica asks for 16 nvidia.com/gpu, and no node that it may use has more than 8. It may use 2 of 2 nodes`,
	pod:     unschedulable,
}, {
	Reason:  aiv1.ReasonReadinessFailing,
	Meaning: "The server runs, but does not answer on its health path, and so gets no traffic.",
	Advice: "Read its log. If it answers elsewhere, correct the health path and the port; if it is overloaded, add replicas or give " +
		"`probes.readiness` in `spec.chartValues` more time.",
	Example:   `container "server" runs, and its readiness probe fails: HTTP probe failed with statuscode: 503`,
	container: readinessFailing,
}, {
	Reason:  aiv1.ReasonEvicted,
	Meaning: "A node ran short of memory or disk and threw a replica out. Another is started in its place.",
	Advice: "Ask for as much memory and ephemeral storage as the server uses, so that it is placed where that is free. Weights that are downloaded " +
		"into the pod count as ephemeral storage.",
	Example: `a replica was evicted: The node was low on resource: ephemeral-storage.`,
	pod:     evicted,
}, {
	Reason:   aiv1.ReasonQuotaExceeded,
	Meaning:  "A ResourceQuota of the namespace has no room for what is needed.",
	Advice:   "Compare the amounts in the message. Scale something else in the namespace down, ask for less, or have the quota raised.",
	Example:  `pods are refused: exceeded quota: gpus, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8`,
	workload: podsRefused(aiv1.ReasonQuotaExceeded),
}, {
	Reason:  aiv1.ReasonPodSecurity,
	Meaning: "The pods break the Pod Security Standard that the namespace enforces.",
	Advice: "By default the pods keep the restricted standard. Take back what `spec.chartValues` changed in the security contexts or volumes, or " +
		"use a namespace with another standard.",
	Example:  `pods are refused: violates PodSecurity "restricted:latest": runAsNonRoot != true`,
	workload: podsRefused(aiv1.ReasonPodSecurity),
}, {
	Reason:   aiv1.ReasonAdmissionRefused,
	Meaning:  "An admission webhook or an admission policy of the cluster refuses the pods, or a webhook does not answer.",
	Advice:   "The message names it. Change what it objects to, or ask whoever runs it for an exception.",
	Example:  `pods are refused: admission webhook "policy.example.com" denied the request: images must come from registry.example.com`,
	workload: podsRefused(aiv1.ReasonAdmissionRefused),
}, {
	Reason:   aiv1.ReasonPodsRefused,
	Meaning:  "The API server refuses to create the pods, for a reason that is none of those above.",
	Advice:   "The message has its words. Mostly a value in `spec.chartValues` makes the pods invalid.",
	Example:  `pods are refused: spec.tolerations: Forbidden`,
	workload: podsRefused(aiv1.ReasonPodsRefused),
}, {
	Reason:   aiv1.ReasonProgressDeadlineExceeded,
	Meaning:  "The rollout made no progress for longer than a start may take, and no pod tells why.",
	Advice:   "Look at the pods and their events (`kubectl describe pod`). If the server only starts slowly, raise `startup.budgetSeconds` in `spec.chartValues`.",
	Example:  `the rollout made no progress within its deadline`,
	workload: overdue,
}, {
	Reason: aiv1.ReasonFillingJobFailed,
	Meaning: "A Job that can write to a claim that the pods mount has failed, and no other has done its work since. If it was to bring the weights, " +
		"the pods do not find them; whether it was is not known.",
	Advice: "Read the log of the Job's pods (`kubectl logs job/NAME`). Mend what it met, delete the Job and create it again: once it is done, the server is " +
		"started anew within five minutes. If the Job has nothing to do with the weights, look at what is told before it.",
	Example:  `the Job "fetch", which can write to the claim "weights", failed (BackoffLimitExceeded): Job has reached the specified backoff limit`,
	Advisory: true,
	Behind:   true,
	workload: filling(aiv1.ReasonFillingJobFailed, JobFailed),
}, {
	Reason: aiv1.ReasonFillingJobUnfinished,
	Meaning: "A Job that can write to a claim that the pods mount has not finished, or is suspended. If it brings the weights, " +
		"the pods do not find them all yet; whether it does is not known.",
	Advice: "Wait for the Job; once it is done, the server is started anew within five minutes. `kubectl describe job` tells whether it gets on; " +
		"a suspended one waits for whoever suspended it, mostly a queue.",
	Example:  `the Job "fetch", which can write to the claim "weights", has not finished`,
	Advisory: true,
	Behind:   true,
	workload: filling(aiv1.ReasonFillingJobUnfinished, JobUnfinished, JobSuspended),
}, {
	Reason:  aiv1.ReasonScalingInactive,
	Meaning: "The autoscaler cannot compute how many replicas are needed, so their number stays as it is. What runs goes on serving.",
	Advice: "Install what serves its metrics: metrics-server for CPU and memory, an adapter for others. Check that each metric in " +
		"`spec.autoscaling.metrics` exists, and that the pods ask for the resource that is measured.",
	Example:  `the autoscaler does not scale (FailedGetResourceMetric): failed to get cpu utilization: no metrics returned from resource metrics API`,
	Advisory: true,
	workload: scalingInactive,
}}
