// Package scale measures how the operator, as a process of its own, brings many services up on a real control plane: how
// long it takes, what it asks of the API server, and what memory it needs. It fails when a budget of requests is broken;
// times depend on the machine and are only printed. bin/scale-heap.pprof tells what the memory is used for: look at it with
// `go tool pprof`.
//
// Run it with `make test-scale`. SCALE_SERVICES says how many services (300), SCALE_REST how long to watch the operator at
// rest (60s), SCALE_LOCALKUBE_ARGS gives further arguments to `localkube up`.
package scale
