package apply

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hooked is a cluster that asks before it creates a Service.
type hooked struct {
	client.Client
	beforeService func() error
}

func (h hooked) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if object.GetObjectKind().GroupVersionKind().Kind == "Service" {
		if err := h.beforeService(); err != nil {
			return err
		}
	}
	return h.Client.Create(ctx, object, opts...)
}

func (h hooked) applier() *Applier { return &Applier{Client: h, Live: h, Kinds: testKinds} }

// numbered gives a Deployment and a Service of their own for each number.
func numbered(t *testing.T, number int) []Object {
	t.Helper()
	d, s := deployment(), service()
	d.Name, s.Name = "llama-"+strconv.Itoa(number), "llama-"+strconv.Itoa(number)
	return []Object{prepare(t, d), prepare(t, s)}
}

func TestServicesKeepNobodyFromStartingPods(t *testing.T) {
	waiting, released := make(chan struct{}), make(chan struct{})
	applier := hooked{newCluster(t), func() error {
		waiting <- struct{}{}
		<-released
		return nil
	}}.applier()
	done := make(chan error, turnsAtOnce)
	for number := range turnsAtOnce {
		objects := numbered(t, number)
		go func() {
			_, err := applier.Apply(t.Context(), owner(), objects)
			done <- err
		}()
		<-waiting
	}
	late := numbered(t, turnsAtOnce)
	var changes []Change
	go func() {
		var err error
		changes, err = applier.Apply(t.Context(), owner(), late)
		done <- err
	}()
	select {
	case <-waiting:
		t.Fatalf("%d Services are created at once, want at most %d", turnsAtOnce+1, turnsAtOnce)
	case err := <-done:
		if !errors.Is(err, ErrNotYet) {
			t.Errorf("error = %v, want %v", err, ErrNotYet)
		}
	}
	if diff := cmp.Diff([]Change{{Created, "Deployment", late[0].Name}}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for range turnsAtOnce {
		released <- struct{}{}
		if err := <-done; err != nil {
			t.Errorf("a Service that was waited for: %v", err)
		}
	}
}

func TestOnlyAStartWaitsForItsTurn(t *testing.T) {
	applier := newCluster(t).applier()
	applier.turns.taken.Store(turnsAtOnce)
	for _, tc := range []struct {
		name    string
		objects []Object
		want    error
	}{
		{"a Service without pods", numbered(t, 0)[1:], nil},
		{"a start", numbered(t, 1), ErrNotYet},
		{"what was started goes on", numbered(t, 1), nil},
		{"nothing is left to do", numbered(t, 1), nil},
	} {
		if _, err := applier.Apply(t.Context(), owner(), tc.objects); !errors.Is(err, tc.want) {
			t.Errorf("%s: error = %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestATurnIsGivenBackWhateverBecomesOfTheService(t *testing.T) {
	for name, fate := range map[string]error{"created": nil, "refused": errors.New("refused")} {
		t.Run(name, func(t *testing.T) {
			applier := hooked{newCluster(t), func() error { return fate }}.applier()
			for number := range turnsAtOnce + 1 {
				if _, err := applier.Apply(t.Context(), owner(), numbered(t, number)); !errors.Is(err, fate) {
					t.Errorf("start %d: error = %v, want %v", number, err, fate)
				}
			}
		})
	}
}
