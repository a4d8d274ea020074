// Package resolve follows the references of an AIModel or an InferenceService and gathers what was found in one plain
// Inputs struct. It reads; it must not write, and it hands on no content of a Secret.
package resolve
