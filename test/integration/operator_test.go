package integration

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/environment"
	"github.com/aimodel-operator/aimodel-operator/internal/setup"
)

// startsOperators is the label of the specs that start operators of their own.
const startsOperators = "starts-operators"

var (
	// shared is the operator that serves most specs. It watches all namespaces.
	shared *operator
	// external says that somebody else runs that operator.
	external = os.Getenv("INTEGRATION_OPERATOR") == "running"
	// account is a kubeconfig of the account whose permissions operators have that specs start. Empty: an administrator's.
	account = os.Getenv("INTEGRATION_ACCOUNT")
	// preinstalled says that somebody else has installed the definitions, and what else belongs to an operator.
	preinstalled = external || account != ""
)

// operator is one running operator.
type operator struct {
	// requests are those that it sent to the API server.
	requests *requests

	cancel context.CancelFunc
	ended  chan error
}

// operatorSettings is what a spec may want to be different.
type operatorSettings struct {
	// namespaces restricts the operator to some namespaces.
	namespaces []string
	// faults are put between the controllers and the API server.
	faults interceptor.Funcs
	// config is how to reach the API server: that of operatorConfig, by default.
	config *rest.Config
	// cluster is the identity of the cluster, if it shall be another.
	cluster string
	// lease is the namespace of the lease, for operators that take turns. Empty: it works without one.
	lease string
	// defaultRegistry is the registry of models that name none.
	defaultRegistry types.NamespacedName
	// variables are those of the operator's environment that say what its site is like.
	variables map[string]string
	// options changes what else may be set.
	options func(*setup.Options)
	// backend makes the backends of model registries.
	backend func(connections.Factory) connections.Factory
}

// operatorConfig is how operators reach the API server.
func operatorConfig() *rest.Config {
	ginkgo.GinkgoHelper()
	if account == "" {
		return rest.CopyConfig(kube.Config)
	}
	config, err := clientcmd.BuildConfigFromFlags("", account)
	Expect(err).NotTo(HaveOccurred())
	return config
}

// startOperator returns when the caches of the new operator are filled. Only specs of describeOwnOperators may start one.
func startOperator(settings operatorSettings) *operator {
	ginkgo.GinkgoHelper()
	Expect(ginkgo.CurrentSpecReport().Labels()).To(ContainElement(startsOperators), "another operator serves this spec")
	return newOperator(settings)
}

// newOperator starts an operator.
func newOperator(settings operatorSettings) *operator {
	ginkgo.GinkgoHelper()
	config := operatorConfig()
	if settings.config != nil {
		config = rest.CopyConfig(settings.config)
	}
	o := &operator{requests: &requests{}, ended: make(chan error, 1)}
	config.Wrap(o.requests.transport)

	options := setup.Defaults()
	options.LeaderElect, options.LeaderElectNamespace = settings.lease != "", settings.lease
	options.LeaseDuration = 15 * time.Second
	options.MetricsAddress, options.ProbeAddress = "0", "0"
	options.Namespaces = settings.namespaces

	var ctx context.Context
	ctx, o.cancel = context.WithCancel(suiteCtx)
	options.RegistryCheckInterval = 4 * time.Second
	if settings.cluster != "" {
		options.ClusterID = settings.cluster
	}
	options.DefaultRegistry = settings.defaultRegistry
	if settings.options != nil {
		settings.options(&options)
	}
	found, err := environment.Of(settings.variables)
	Expect(err).NotTo(HaveOccurred())
	options.Site = found.Site
	mgr, err := setup.ManagerWith(ctx, config, options, setup.Seams{
		Client:  func(c client.Client) client.Client { return interceptor.NewClient(unwatched{c}, settings.faults) },
		Backend: settings.backend,
	})
	Expect(err).NotTo(HaveOccurred())
	go func() { o.ended <- mgr.Start(ctx) }()
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	return o
}

// stop ends the operator and waits for its end. Only the first call does anything.
func (o *operator) stop() {
	ginkgo.GinkgoHelper()
	o.cancel()
	if o.ended != nil {
		Eventually(o.ended).Should(Receive(Succeed()))
		o.ended = nil
	}
}

// describeOwnOperators describes specs that start operators of their own, one spec after the other. The shared operator rests
// meanwhile.
func describeOwnOperators(text string, specs func()) bool {
	return ginkgo.Describe(text, ginkgo.Ordered, ginkgo.ContinueOnFailure, ginkgo.Label(startsOperators), ginkgo.Offset(1), func() {
		ginkgo.BeforeAll(func() {
			if external {
				ginkgo.Skip("SKIPPED: an operator runs already, and the spec starts its own: unset INTEGRATION_OPERATOR, " +
					"or stop the other one and set INTEGRATION_ACCOUNT to a kubeconfig of its account")
			}
			shared.stop()
		})
		ginkgo.AfterAll(func() {
			if !external {
				shared = newOperator(operatorSettings{})
			}
		})
		specs()
	})
}

// runOperator starts an operator that ends with the spec.
func runOperator(settings operatorSettings) *operator {
	ginkgo.GinkgoHelper()
	o := startOperator(settings)
	ginkgo.DeferCleanup(o.stop)
	return o
}

// unwatched makes a client fit for the interceptor. The controllers watch through the cache, not through their client.
type unwatched struct{ client.Client }

func (unwatched) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("nothing watches through this client")
}

// requests remembers the requests of one client.
type requests struct {
	mu   sync.Mutex
	sent []request
}

type request struct {
	method, path string
	watch        bool
	status       int
}

func (r request) String() string { return r.method + " " + r.path }

func (r *requests) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(sent *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(sent)
		seen := request{method: sent.Method, path: sent.URL.Path, watch: strings.Contains(sent.URL.RawQuery, "watch=true")}
		if err == nil {
			seen.status = response.StatusCode
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent = append(r.sent, seen)
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *requests) matching(wanted func(request) bool) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []request
	for _, sent := range r.sent {
		if wanted(sent) {
			found = append(found, sent)
		}
	}
	return found
}

// writes are the requests that would change something.
func (r *requests) writes() []request {
	return r.matching(func(sent request) bool { return sent.method != http.MethodGet })
}

// reads are all other requests but those that keep a cache up to date.
func (r *requests) reads() []request {
	return r.matching(func(sent request) bool { return sent.method == http.MethodGet && !sent.watch })
}

// forbidden are the requests that the API server refused for want of a permission.
func (r *requests) forbidden() []request {
	return r.matching(func(sent request) bool { return sent.status == http.StatusForbidden })
}

func (r *requests) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = nil
}
