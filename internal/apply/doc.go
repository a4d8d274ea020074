// Package apply brings rendered objects into the cluster, keeps them as rendered, and deletes what is no longer
// rendered.
//
// It is the only package that writes children. It touches an object only when that object is controlled by the owner
// it works for; it sends nothing when the live object already carries what would be sent; and it leaves every field,
// label and annotation alone that it did not render.
//
// A new object is created with POST, not with a server-side apply: an apply would take over an object of the same name
// that was there first. Every later change is a server-side apply.
package apply
