package resolve

import (
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// usualAccelerators are taken for the accelerators wherever there is a choice.
var usualAccelerators = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"}

// splitResources takes the accelerators out of what a container asks for, so that whoever asks for them there gets what
// whoever names them as accelerators gets. The argument is not changed.
//
// An accelerator is an extended resource. Of several, it is one of the usual ones or else the first by name; the others
// stay among the resources. So does one that the API server is going to refuse, so that it says why.
func splitResources(asked *corev1.ResourceRequirements) (*aiv1.Accelerator, *corev1.ResourceRequirements) {
	if asked == nil {
		return nil, nil
	}
	name, found := acceleratorAmong(asked)
	if !found {
		return nil, asked
	}
	limit := asked.Limits[name]
	rest := asked.DeepCopy()
	delete(rest.Limits, name)
	delete(rest.Requests, name)
	if len(rest.Limits)+len(rest.Requests)+len(rest.Claims) == 0 {
		rest = nil
	}
	return &aiv1.Accelerator{ResourceName: string(name), Count: int32(limit.Value())}, rest
}

func acceleratorAmong(asked *corev1.ResourceRequirements) (corev1.ResourceName, bool) {
	names := slices.Concat(usualAccelerators, slices.Sorted(maps.Keys(asked.Limits)))
	place := slices.IndexFunc(names, func(name corev1.ResourceName) bool {
		return isExtended(name) && isCount(asked, name)
	})
	if place < 0 {
		return "", false
	}
	return names[place], true
}

// isExtended says whether a resource is none of Kubernetes' own, such as cpu or hugepages-2Mi.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}

// isCount says whether a resource is limited to a whole number of at least one, and the request for it, if there is one, is
// the same.
func isCount(asked *corev1.ResourceRequirements, name corev1.ResourceName) bool {
	limit := asked.Limits[name]
	count := limit.Value()
	if count < 1 || count > math.MaxInt32 || limit.Cmp(*resource.NewQuantity(count, resource.DecimalSI)) != 0 {
		return false
	}
	request, given := asked.Requests[name]
	return !given || request.Cmp(limit) == 0
}
