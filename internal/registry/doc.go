// Package registry is what the operator knows of external model registries: what it registers, how it marks what is its
// own, and the interface and the errors that every kind of registry is behind. Each kind has a package of its own below this
// one; package backends picks one.
//
// It must not know of Kubernetes' objects or clients: the controllers hand it plain values, and read nothing from it but
// entries and errors. No secret may ever be part of an error, of a String method or of what is stored in a registry.
package registry
