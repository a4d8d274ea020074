// Package serving holds the steps that both controllers share: render the inputs, apply the objects, observe what became
// of them, and write status. What an object refers to, and which fields of status it has of its own, is for its controller
// to say. The package must not know of one kind in particular.
package serving
