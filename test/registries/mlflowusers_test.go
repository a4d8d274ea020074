package registries

import (
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/mlflow"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// ofMLflow is the operator's user, who may do nothing but what is with registered models of its own or shared with it.
var ofMLflow = registry.Auth{Username: "operator", Password: "the-password-of-the-operator"}

// An MLflow with users, where nobody has a permission by default, is the strictest one: it hides what a user may not see, and
// answers to what is not there as to what is hidden.
func TestMLflowWithUsers(t *testing.T) {
	t.Parallel()
	server := servers.StartMLflowWithUsers(t)
	look := inspect.MLflow{
		URL: server.URL, Auth: registry.Auth{Username: server.Admin, Password: server.AdminPassword}, ShareWith: ofMLflow.Username,
	}
	look.AddUser(t, ofMLflow.Username, ofMLflow.Password)
	conformance.Run(t, conformance.Target{
		New:         func(config registry.Config) (registry.Backend, error) { return mlflow.New(config) },
		Config:      registry.Config{URL: server.URL, Auth: ofMLflow},
		Server:      look,
		ByHand:      "1",
		Coarse:      true,
		CutsOnly:    true, // TestMLflow has the others
		HidesAbsent: true,
		Many:        20,
	})
	look.ShareWith = ""
	t.Run("more", func(t *testing.T) { mlflowPermissions(t, look) })
}

func mlflowAs(t *testing.T, auth registry.Auth, address, workspace string) registry.Backend {
	t.Helper()
	return connect(t, mlflow.New, registry.Config{URL: address, Workspace: workspace, Auth: auth})
}

// mlflowPermissions tests what permissions change.
func mlflowPermissions(t *testing.T, look inspect.MLflow) {
	backend := mlflowAs(t, ofMLflow, look.URL, "")
	policies := []registry.DeletionPolicy{registry.Delete, registry.Archive, registry.Orphan}
	named := func(name string) registry.Registration {
		r := llama("1.0")
		r.Name = name
		return r
	}

	t.Run("a check tells who is let in", func(t *testing.T) {
		if err := backend.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, auth := range []registry.Auth{
			{}, {Username: "operator", Password: "a-wrong-password"}, {Username: "nobody", Password: ofMLflow.Password},
		} {
			err := mlflowAs(t, auth, look.URL, "").Check(t.Context())
			wantReason(t, err, registry.Unauthorized)
			wantText(t, err, "MLflow knows no such user with this password")
		}
	})
	t.Run("a registered model that is hidden is named, and stays", func(t *testing.T) {
		for _, version := range []string{"1.0", "1"} { // one of them is MLflow's number, too
			r := named("hidden")
			r.Version, r.Adoption = version, registry.AdoptAlways
			if look.Dump(t, r.Name) == "" {
				look.Add(t, r.Name, "1", nil)
			}
			before := look.Dump(t, r.Name)
			_, err := backend.Register(t.Context(), r)
			wantReason(t, err, registry.Unauthorized)
			wantText(t, err, `there is a registered model "hidden", and MLflow gives this user no permission on it`)
			for _, policy := range policies {
				wantReason(t, backend.Unregister(t.Context(), r, policy), registry.Unauthorized)
			}
			if after := look.Dump(t, r.Name); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		}
	})
	t.Run("to read a registered model is not enough to add a version, nor to edit it to delete one", func(t *testing.T) {
		r := named("to-read")
		r.Adoption = registry.AdoptAlways
		look.Add(t, r.Name, "1", nil)
		look.Allow(t, ofMLflow.Username, r.Name, "READ")
		before := look.Dump(t, r.Name)
		_, err := backend.Register(t.Context(), r)
		wantReason(t, err, registry.Unauthorized)
		wantText(t, err, "create the version: the registry answered 403: MLflow gives this user no permission for it")
		if after := look.Dump(t, r.Name); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		// It may be seen that nothing of the operator's is there.
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Error(err)
		}
		look.Disallow(t, ofMLflow.Username, r.Name)
		look.Allow(t, ofMLflow.Username, r.Name, "EDIT")
		mustRegister(t, backend, r)
		wantReason(t, backend.Unregister(t.Context(), r, registry.Delete), registry.Unauthorized)
		look.Disallow(t, ofMLflow.Username, r.Name)
		look.Allow(t, ofMLflow.Username, r.Name, "MANAGE")
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Error(err)
		}
		if left := look.Versions(t, r.Name); len(left) != 1 || left[0].Version != "1" {
			t.Errorf("left is %+v", left)
		}
	})
	t.Run("an entry that the operator may not see any more does not pass for gone", func(t *testing.T) {
		for _, policy := range policies {
			r := named("taken-" + strings.ToLower(string(policy)))
			mustRegister(t, backend, r)
			look.Disallow(t, ofMLflow.Username, r.Name)
			before := look.Dump(t, r.Name)
			wantReason(t, backend.Unregister(t.Context(), r, policy), registry.Unauthorized)
			if after := look.Dump(t, r.Name); after != before {
				t.Errorf("%s: before:\n%s\nafter:\n%s", policy, before, after)
			}
			look.Allow(t, ofMLflow.Username, r.Name, "MANAGE")
			if err := backend.Unregister(t.Context(), r, policy); err != nil {
				t.Errorf("%s: %v", policy, err)
			}
		}
	})
	t.Run("what was never there, and what is gone, leaves nothing", func(t *testing.T) {
		r := named("never-there")
		for range 2 {
			for _, policy := range policies {
				if err := backend.Unregister(t.Context(), r, policy); err != nil {
					t.Fatalf("%s: %v", policy, err)
				}
				if dump := look.Dump(t, r.Name); dump != "" {
					t.Fatalf("%s: left is %s", policy, dump)
				}
			}
			mustRegister(t, backend, r)
			if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if !strings.Contains(err.Error(), want) {
		t.Errorf("it says %q, and not %q", err, want)
	}
}
