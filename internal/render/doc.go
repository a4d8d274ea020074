// Package render turns the values of a chart into typed Kubernetes objects.
//
// It is the only package that knows Helm. It is pure: the same name, namespace and values give the same objects in the
// same order. It must not read a cluster, the clock, the environment or the network, and it must not decide what the
// values are.
//
// Templates are parsed and the schema is compiled once, when the Renderer is made. Helm's own engine does both anew on
// each call, which costs several times what executing the templates does; tests hold the two to the same output.
package render
