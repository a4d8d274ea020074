package follow

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
)

// isLoss tells a lost connection from a watch that the API server ends in the ordinary way.
func isLoss(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !utilnet.IsTimeout(err)
}

// Kind is a kind of objects that the cluster has.
type Kind struct {
	Resource   schema.GroupVersionResource
	Name       string
	Namespaced bool
}

// Discover finds the kind that GROUP/KIND means, among those that the cluster has. The kind may be written in small letters, in
// the plural or by its short name.
func Discover(client discovery.DiscoveryInterface, argument string) (*Kind, error) {
	group, name, found := strings.Cut(argument, "/")
	if !found || group == "" || name == "" {
		return nil, fmt.Errorf("--crd must be GROUP/KIND, such as apps.example.com/Widget, not %q", argument)
	}
	// A group whose own API server is down hides no other group.
	lists, err := client.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil, err
	}
	var others []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || gv.Group != group {
			continue
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if !slices.Contains(resource.Verbs, "watch") {
				continue
			}
			if isCalled(resource, name) {
				return &Kind{Resource: gv.WithResource(resource.Name), Name: resource.Kind, Namespaced: resource.Namespaced}, nil
			}
			others = append(others, resource.Kind)
		}
	}
	if len(others) == 0 {
		return nil, fmt.Errorf("the cluster has no group %q whose objects can be followed: `kubectl api-resources` lists what it has", group)
	}
	slices.Sort(others)
	return nil, fmt.Errorf("group %q has no kind %q; it has %s", group, name, strings.Join(slices.Compact(others), ", "))
}

func isCalled(resource *metav1.APIResource, name string) bool {
	names := append([]string{resource.Kind, resource.Name, resource.SingularName}, resource.ShortNames...)
	return slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}
