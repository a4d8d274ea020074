package v1

// Condition types. Each is set on every pass, and is Unknown when its truth is not known.
const (
	// ConditionReady sums the others up: the current generation is applied and every replica asked for is ready.
	ConditionReady = "Ready"
	// ConditionResolved says that everything the object refers to was found and may be used.
	ConditionResolved = "Resolved"
	// ConditionApplied says that the objects rendered for the current generation stand in the cluster.
	ConditionApplied = "Applied"
	// ConditionAvailable says that at least one replica answers.
	ConditionAvailable = "Available"
	// ConditionProgressing says that a rollout or a scaling is under way.
	ConditionProgressing = "Progressing"
	// ConditionScalingActive says whether the autoscaler scales. Only an object with one has it, and Ready does not depend on it.
	ConditionScalingActive = "ScalingActive"
)

// Reasons of ConditionReady that are its own. When it is False it repeats the reason of what keeps it so.
const (
	// ReasonReady: every replica of the current generation is ready.
	ReasonReady = "Ready"
	// ReasonScaledToZero: no replica is asked for, and none runs.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonCatalogued: the model runs nothing itself; InferenceServices can refer to it.
	ReasonCatalogued = "Catalogued"
	// ReasonServedElsewhere: the model's endpoint is the URL of a server outside this operator's care.
	ReasonServedElsewhere = "ServedElsewhere"
	// ReasonPaused: the object carries the paused annotation, so its children are left as they are.
	ReasonPaused = "Paused"
	// ReasonNotObserved: this pass ended before it could be found out.
	ReasonNotObserved = "NotObserved"
)

// Reasons of ConditionResolved.
const (
	// ReasonReferencesResolved: every reference was found.
	ReasonReferencesResolved = "ReferencesResolved"
	// ReasonModelNotFound: spec.modelRef names an AIModel that does not exist in the namespace.
	ReasonModelNotFound = "ModelNotFound"
	// ReasonModelNotResolved: the AIModel exists, but its own references do not resolve.
	ReasonModelNotResolved = "ModelNotResolved"
	// ReasonModelNotObserved: the AIModel exists, and the operator is about to look at it.
	ReasonModelNotObserved = "ModelNotObserved"
	// ReasonModelServedElsewhere: the AIModel's endpoint is a URL, so there is nothing to serve.
	ReasonModelServedElsewhere = "ModelServedElsewhere"
	// ReasonSecretNotFound: the Secret named by credentialsRef does not exist.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretForbidden: the operator may not read the Secret named by credentialsRef.
	ReasonSecretForbidden = "SecretForbidden"
	// ReasonSecretNamespace: credentialsRef names another namespace.
	ReasonSecretNamespace = "SecretInOtherNamespace"
	// ReasonReadFailed: the API server did not answer a read; it is tried again.
	ReasonReadFailed = "ReadFailed"
)

// Reasons of ConditionApplied.
const (
	// ReasonObjectsApplied: every rendered object stands as rendered.
	ReasonObjectsApplied = "ObjectsApplied"
	// ReasonNothingToApply: the object needs no children.
	ReasonNothingToApply = "NothingToApply"
	// ReasonApplying: a part of the objects stands; the rest follows within a moment.
	ReasonApplying = "Applying"
	// ReasonWaiting: references are not resolved, so nothing new is applied; what runs is left running.
	ReasonWaiting = "WaitingForReferences"
	// ReasonSourceNotSupported: the runtime cannot read weights from the model's source.
	ReasonSourceNotSupported = "SourceNotSupported"
	// ReasonFormatNotSupported: the runtime cannot load the model's format.
	ReasonFormatNotSupported = "FormatNotSupported"
	// ReasonInvalidChartValues: spec.chartValues does not fit the chart's schema.
	ReasonInvalidChartValues = "InvalidChartValues"
	// ReasonRenderFailed: the chart could not be rendered.
	ReasonRenderFailed = "RenderFailed"
	// ReasonConflict: an object of the needed name exists and belongs to somebody else.
	ReasonConflict = "Conflict"
	// ReasonQuotaExceeded: a ResourceQuota of the namespace refuses an object or its pods.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonRefused: an admission webhook, a policy or RBAC refuses an object.
	ReasonRefused = "Refused"
	// ReasonInvalid: the API server's validation refuses an object.
	ReasonInvalid = "Invalid"
	// ReasonAPINotServed: the cluster lacks the API of an optional object that was asked for.
	ReasonAPINotServed = "APINotServed"
	// ReasonApplyFailed: the API server failed or did not answer; it is tried again.
	ReasonApplyFailed = "ApplyFailed"
)

// Reasons of ConditionAvailable and ConditionProgressing.
const (
	// ReasonReplicasAvailable: at least one replica is available.
	ReasonReplicasAvailable = "ReplicasAvailable"
	// ReasonNoReplicaAvailable: no replica is available yet, and no pod tells why.
	ReasonNoReplicaAvailable = "NoReplicaAvailable"
	// ReasonRollingOut: pods of the current generation are being started.
	ReasonRollingOut = "RollingOut"
	// ReasonScaling: the number of replicas is being brought to what is asked for.
	ReasonScaling = "Scaling"
	// ReasonStable: the current generation is rolled out.
	ReasonStable = "Stable"
	// ReasonProgressDeadlineExceeded: the rollout made no progress for longer than its budget.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons that pods, and what pods need, give. They win over the general reasons of every condition that they keep from
// being good. What to do about each is on the page "It does not start: what now".
const (
	// ReasonOOMKilled: the container was killed for using more memory than its limit.
	ReasonOOMKilled = "OOMKilled"
	// ReasonImagePlatformMismatch: the image is not made for the processor of the node.
	ReasonImagePlatformMismatch = "ImagePlatformMismatch"
	// ReasonLivenessFailing: the kubelet killed the container because its liveness probe failed.
	ReasonLivenessFailing = "LivenessFailing"
	// ReasonStartupProbeFailing: the container did not pass its startup probe in time, or has used up half of that time.
	ReasonStartupProbeFailing = "StartupProbeFailing"
	// ReasonCrashLoop: the container exits again and again.
	ReasonCrashLoop = "CrashLoop"
	// ReasonContainerConfig: the kubelet cannot set the container up, for want of a Secret, a key or a non-root user.
	ReasonContainerConfig = "ContainerConfigError"
	// ReasonInvalidImageName: the name of the image is not one.
	ReasonInvalidImageName = "InvalidImageName"
	// ReasonImageUnauthorized: the registry does not let the image be pulled.
	ReasonImageUnauthorized = "ImageUnauthorized"
	// ReasonImageNotFound: the registry has no such image.
	ReasonImageNotFound = "ImageNotFound"
	// ReasonRegistryUnreachable: the node does not reach the registry of the image, or the registry does not serve it.
	ReasonRegistryUnreachable = "RegistryUnreachable"
	// ReasonImagePull: the image cannot be pulled, for a reason that is none of the others.
	ReasonImagePull = "ImagePullFailed"
	// ReasonAcceleratorUnhealthy: a node has the accelerators, and does not hand them out.
	ReasonAcceleratorUnhealthy = "AcceleratorUnhealthy"
	// ReasonVolumeNotBound: a claim that the pod mounts is missing, or has no volume.
	ReasonVolumeNotBound = "VolumeNotBound"
	// ReasonVolumeMountFailed: a volume cannot be attached to the node, or mounted there.
	ReasonVolumeMountFailed = "VolumeMountFailed"
	// ReasonSandboxFailed: the node cannot give the pod its network.
	ReasonSandboxFailed = "SandboxFailed"
	// ReasonNodeRefused: the kubelet refused a pod that the scheduler had sent to its node.
	ReasonNodeRefused = "NodeRefused"
	// ReasonNodeLost: the node of a replica does not report any more.
	ReasonNodeLost = "NodeLost"
	// ReasonRolloutBlocked: no node has room for a pod of the new revision, while those of the old go on serving.
	ReasonRolloutBlocked = "RolloutBlocked"
	// ReasonUnschedulable: the scheduler found no node; the message has its words.
	ReasonUnschedulable = "Unschedulable"
	// ReasonReadinessFailing: the container runs, and its readiness probe fails.
	ReasonReadinessFailing = "ReadinessFailing"
	// ReasonEvicted: the node ran short of something and threw a replica out.
	ReasonEvicted = "Evicted"
	// ReasonPodSecurity: the namespace's Pod Security Standard refuses the pods.
	ReasonPodSecurity = "PodSecurityViolation"
	// ReasonAdmissionRefused: an admission webhook or policy refuses the pods.
	ReasonAdmissionRefused = "AdmissionRefused"
	// ReasonPodsRefused: the API server refuses to create the pods, for a reason that is none of the others.
	ReasonPodsRefused = "PodsRefused"
	// ReasonFillingJobFailed: a Job that can write to a claim of the pods failed. No condition has it: it stands behind their message.
	ReasonFillingJobFailed = "FillingJobFailed"
	// ReasonFillingJobUnfinished: a Job that can write to a claim of the pods has not finished. No condition has it, either.
	ReasonFillingJobUnfinished = "FillingJobUnfinished"
)

// Reasons of ConditionScalingActive.
const (
	// ReasonScalingActive: the autoscaler has its metrics and scales.
	ReasonScalingActive = "ScalingActive"
	// ReasonScalingInactive: the autoscaler cannot scale; the message has its words.
	ReasonScalingInactive = "ScalingInactive"
	// ReasonScalingUnknown: the autoscaler was created a short while ago and has not reported yet.
	ReasonScalingUnknown = "ScalingNotObserved"
)
