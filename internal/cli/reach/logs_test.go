package reach

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// logServer answers for logs as an API server does: of the pod "silent" there are none.
func logServer(t *testing.T) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Split(r.URL.Path, "/")[6]
		if name == "silent" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"container \"server\" is waiting to start"}`)
			return
		}
		fmt.Fprintf(w, "first of %s\n%s\nno end", name, r.URL.RawQuery)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func pods(names ...string) []corev1.Pod {
	var all []corev1.Pod
	for _, name := range names {
		all = append(all, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server"}, {Name: "sidecar"}}}})
	}
	return all
}

func TestLogs(t *testing.T) {
	for name, tc := range map[string]struct {
		pods          []corev1.Pod
		options       LogOptions
		want, wantErr string
	}{
		"of one pod are as they are": {pods: pods("a"), options: LogOptions{Tail: -1}, want: "first of a\ncontainer=server\nno end"},
		"of several have the pod before each line": {pods: pods("a", "b"), options: LogOptions{Tail: 5, Container: "sidecar", Previous: true},
			want: "[a] first of a\n[a] container=sidecar&previous=true&tailLines=5\n[a] no end\n" +
				"[b] first of b\n[b] container=sidecar&previous=true&tailLines=5\n[b] no end\n"},
		"of one that has none do not hide the others": {pods: pods("silent", "a"), options: LogOptions{Tail: -1},
			want: "[a] first of a\n[a] container=server\n[a] no end\n", wantErr: `pod silent has no log: container "server" is waiting to start`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Logs(t.Context(), logServer(t), tc.pods, tc.options, &out)
			if out.String() != tc.want {
				t.Errorf("got %q, want %q", out.String(), tc.want)
			}
			if (err == nil) != (tc.wantErr == "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("error %v, want %q", err, tc.wantErr)
			}
		})
	}
}
