package registries

import (
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// Two teams have a workspace each on one MLflow with users, and the default one is there too.
func TestMLflowWorkspaces(t *testing.T) {
	t.Parallel()
	server := servers.StartMLflowWithUsers(t, "--enable-workspaces")
	admin := registry.Auth{Username: server.Admin, Password: server.AdminPassword}
	byDefault := inspect.MLflow{URL: server.URL, Auth: admin}
	look := map[string]inspect.MLflow{"": byDefault}
	backend := map[string]registry.Backend{"": mlflowAs(t, admin, server.URL, "")}
	for _, name := range []string{"team-a", "team-b"} {
		auth := registry.Auth{Username: "operator-" + name, Password: "the-password-of-" + name}
		byDefault.AddUser(t, auth.Username, auth.Password)
		byDefault.AddWorkspace(t, name, auth.Username)
		look[name] = inspect.MLflow{URL: server.URL, Auth: admin, Workspace: name}
		backend[name] = mlflowAs(t, auth, server.URL, name)
	}
	all := []string{"team-a", "team-b", ""}
	// dumps is what is in all workspaces but one.
	dumps := func(without string) (dump string) {
		for _, name := range all {
			if name != without {
				dump += name + ":\n" + look[name].Dump(t, "")
			}
		}
		return dump
	}
	// in is the same model for the owner that a workspace is of.
	in := func(workspace string) registry.Registration {
		r := llama("1.0")
		r.Owner.Namespace = "of-" + workspace
		r.Tags = map[string]string{"of": workspace}
		r.Key = registry.NewKey(r.Owner, r.Name, r.Version)
		return r
	}

	t.Run("the same model is registered once in each", func(t *testing.T) {
		for _, name := range all {
			before := dumps(name)
			if err := backend[name].Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				entry := mustRegister(t, backend[name], in(name))
				if !entry.Created || entry.Version != "1" || name != "" && !strings.HasSuffix(entry.URL, "?workspace="+name) {
					t.Errorf("%q: the entry is %+v", name, entry)
				}
			}
			if after := dumps(name); after != before {
				t.Errorf("what is beside %q was\n%s\nand is\n%s", name, before, after)
			}
		}
		for _, name := range all {
			entries := look[name].Entries(t, "llama")
			if len(entries) != 1 || entries[0].Tags["of"] != name || registry.ReadMarks(entries[0].Tags).Owner != in(name).Owner {
				t.Errorf("%q has %+v", name, entries)
			}
		}
	})
	t.Run("the same owner has an entry in each", func(t *testing.T) {
		r := llama("2.0")
		r.Name = "of-one"
		for _, name := range all {
			if entry := mustRegister(t, backend[name], r); !entry.Created {
				t.Errorf("%q: the entry is %+v", name, entry)
			}
		}
		before := dumps("team-b")
		if err := backend["team-b"].Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if after := dumps("team-b"); after != before {
			t.Errorf("what is beside it was\n%s\nand is\n%s", before, after)
		}
		for _, name := range []string{"team-a", ""} {
			if err := backend[name].Unregister(t.Context(), r, registry.Delete); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("each is deleted alone", func(t *testing.T) {
		for _, name := range all {
			before := dumps(name)
			if err := backend[name].Unregister(t.Context(), in(name), registry.Delete); err != nil {
				t.Fatal(err)
			}
			if left := look[name].Dump(t, ""); left != "" {
				t.Errorf("%q: left is %s", name, left)
			}
			if after := dumps(name); after != before {
				t.Errorf("what is beside %q was\n%s\nand is\n%s", name, before, after)
			}
		}
	})
	t.Run("the workspace of others is closed", func(t *testing.T) {
		stranger := mlflowAs(t, registry.Auth{Username: "operator-team-a", Password: "the-password-of-team-a"}, server.URL, "team-b")
		mustRegister(t, backend["team-b"], in("team-b"))
		before := look["team-b"].Dump(t, "")
		for _, r := range []registry.Registration{in("team-b"), in("team-a")} {
			_, err := stranger.Register(t.Context(), r)
			wantReason(t, err, registry.Unauthorized)
			wantReason(t, stranger.Unregister(t.Context(), r, registry.Delete), registry.Unauthorized)
		}
		if after := look["team-b"].Dump(t, ""); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
	t.Run("a workspace that is not there is named", func(t *testing.T) {
		none := mlflowAs(t, admin, server.URL, "team-c")
		_, registering := none.Register(t.Context(), in("team-c"))
		for _, err := range []error{none.Check(t.Context()), registering, none.Unregister(t.Context(), in("team-c"), registry.Delete)} {
			wantReason(t, err, registry.Invalid)
			wantText(t, err, "Workspace 'team-c' not found")
		}
	})
	t.Run("what was in a workspace that is deleted does not pass for gone", func(t *testing.T) {
		byDefault.DeleteWorkspace(t, "team-b")
		wantReason(t, backend["team-b"].Unregister(t.Context(), in("team-b"), registry.Delete), registry.Invalid)
		if entries := byDefault.Entries(t, "llama"); len(entries) != 1 {
			t.Errorf("the default workspace has %+v", entries)
		}
	})
}
