package olm

import (
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// passing are kinds that come and go by themselves: what reports, and what Kubernetes and the Lifecycle Manager keep for
// themselves.
var passing = []string{"events", "endpointslices", "endpoints", "leases", "nodes", "apiservices", "flowschemas", "prioritylevelconfigurations",
	"componentstatuses", "ipaddresses", "servicecidrs"}

// ofOperatorGroup begins the names of the ClusterRoles that the Lifecycle Manager makes for an OperatorGroup and takes away with it. When
// it looks at the group just as that is deleted, it makes one anew, which then stays.
const ofOperatorGroup = "olm.og."

// addedTo lists what an inventory did not have, outside a namespace.
func addedTo(before map[string]bool, but string) []string {
	ginkgo.GinkgoHelper()
	var added []string
	for object := range inventory(but) {
		if !before[object] {
			added = append(added, object)
		}
	}
	return added
}

// inventory lists the objects of the cluster, as "resource.group namespace/name", outside some namespaces. Leases are listed for
// the operator only.
func inventory(but ...string) map[string]bool {
	ginkgo.GinkgoHelper()
	client, err := discovery.NewDiscoveryClientForConfig(kube.Config)
	Expect(err).NotTo(HaveOccurred())
	groups, err := client.ServerPreferredResources()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]bool{}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for i := range group.APIResources {
			resource := &group.APIResources[i]
			operators := resource.Name == "leases" && version.Group == "coordination.k8s.io"
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(passing, resource.Name) && !operators {
				continue
			}
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			if err := k8s.List(suiteCtx, list); err != nil {
				continue // a definition that has just gone
			}
			for j := range list.Items {
				item := &list.Items[j]
				if slices.Contains(but, item.Namespace) || slices.Contains(but, item.Name) {
					continue
				}
				if operators && !strings.HasPrefix(item.Name, packageName) || strings.HasPrefix(item.Name, ofOperatorGroup) {
					continue
				}
				found[schema.GroupResource{Group: version.Group, Resource: resource.Name}.String()+" "+strings.TrimPrefix(item.Namespace+"/"+item.Name, "/")] = true
			}
		}
	}
	return found
}

// leftAfterUninstall is what an installation in a namespace leaves there and in the cluster. docs/bundle.md tells users.
func leftAfterUninstall(namespace string) []string {
	left := []string{
		"leases.coordination.k8s.io " + namespace + "/aimodel-operator.ai.example.com",
		"operators.operators.coreos.com " + packageName + "." + namespace,
		"clusterroles.rbac.authorization.k8s.io aimodel-operator-metrics-reader",
	}
	for _, kind := range []struct{ name, plural, version string }{
		{"aimodel", "aimodels", "v1"}, {"inferenceservice", "inferenceservices", "v1"}, {"modelregistry", "modelregistries", "v1alpha1"},
	} {
		definition := kind.plural + "." + aiv1.Group
		left = append(left, "customresourcedefinitions.apiextensions.k8s.io "+definition)
		for _, role := range []string{"editor", "viewer"} {
			left = append(left, "clusterroles.rbac.authorization.k8s.io aimodel-operator-"+kind.name+"-"+role+"-role")
		}
		// The Lifecycle Manager makes these for every definition that it installs.
		for _, role := range []string{"admin", "edit", "view", "crdview"} {
			left = append(left, "clusterroles.rbac.authorization.k8s.io "+definition+"-"+kind.version+"-"+role)
		}
	}
	return left
}
