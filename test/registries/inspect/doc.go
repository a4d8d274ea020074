// Package inspect looks into the registries of tests as an administrator does: by their own APIs and stores, and never through the
// operator's code, which is what is tested.
package inspect
