package diagnose

import (
	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// steps has the reasons that the steps of a reconcile give by themselves, before there are pods to look at.
var steps = []Entry{{
	Reason:  aiv1.ReasonModelNotFound,
	Meaning: "`spec.modelRef` names an AIModel that the namespace does not have.",
	Advice:  "Create it, or correct the name. An AIModel of another namespace cannot be named.",
}, {
	Reason:  aiv1.ReasonModelNotResolved,
	Meaning: "The AIModel exists, and what it refers to is not found.",
	Advice:  "Look at the AIModel: its Resolved condition says what is missing.",
}, {
	Reason:  aiv1.ReasonModelServedElsewhere,
	Meaning: "The endpoint of the AIModel is the URL of a server outside the cluster, so there is nothing to serve.",
	Advice:  "Use that URL, or name an AIModel without one.",
}, {
	Reason:  aiv1.ReasonSecretNotFound,
	Meaning: "The Secret that `spec.credentialsRef` names does not exist.",
	Advice:  "Create it in the namespace of the AIModel. It is looked for again within half a minute.",
}, {
	Reason:  aiv1.ReasonSecretForbidden,
	Meaning: "The operator may not read the Secret that `spec.credentialsRef` names.",
	Advice:  "Bind the role `aimodel-operator-credentials-reader` to the operator's ServiceAccount in this namespace.",
}, {
	Reason:  aiv1.ReasonSecretNamespace,
	Meaning: "`spec.credentialsRef` names a Secret of another namespace.",
	Advice:  "Copy the Secret into the namespace of the AIModel, and leave the namespace out of the reference.",
}, {
	Reason:  aiv1.ReasonSourceNotSupported,
	Meaning: "The runtime cannot read weights from the model's source.",
	Advice:  "Use a runtime that can, or put the weights where this one reads them. The message says what it reads.",
}, {
	Reason:  aiv1.ReasonFormatNotSupported,
	Meaning: "The runtime cannot load the model's format.",
	Advice:  "Use a runtime that can, or convert the weights. The message says what it loads.",
}, {
	Reason:  aiv1.ReasonInvalidChartValues,
	Meaning: "`spec.chartValues` does not fit the schema of the chart.",
	Advice:  "The message names the value. What there is stands in the page on charts and values.",
}, {
	Reason:  aiv1.ReasonRenderFailed,
	Meaning: "The chart could not be rendered.",
	Advice:  "The message names the template and the value. It is mostly an unusual value in `spec.chartValues`.",
}, {
	Reason:  aiv1.ReasonConflict,
	Meaning: "An object of a name that is needed exists and belongs to somebody else. It is left as it is.",
	Advice:  "Delete or rename it if nobody needs it, or give the AIModel or InferenceService another name.",
}, {
	Reason:  aiv1.ReasonRefused,
	Meaning: "An admission webhook, a policy or a missing permission keeps an object from being written.",
	Advice:  "The message names the object and who refused it. Change what is objected to, or ask for an exception.",
}, {
	Reason:  aiv1.ReasonInvalid,
	Meaning: "The API server finds an object invalid.",
	Advice:  "The message names the field. It is mostly an unusual value in `spec.chartValues`.",
}, {
	Reason:  aiv1.ReasonAPINotServed,
	Meaning: "The cluster lacks the API of an optional object that was asked for.",
	Advice:  "Install what serves it, or turn off what needs it.",
}, {
	Reason:  aiv1.ReasonApplyFailed,
	Meaning: "The API server did not answer, or failed. It is tried again by itself.",
	Advice:  "Look at the health of the API server if it lasts.",
}, {
	Reason:  aiv1.ReasonReadFailed,
	Meaning: "The API server did not answer a read. It is tried again by itself.",
	Advice:  "Look at the health of the API server if it lasts.",
}}
