// Package packaging tests what is shipped beside the operator's code: its Helm chart, the places where the version stands,
// the workflows, the release script, and the kubectl plugin as Krew installs it. The images have tests of their own in tools/images.
package packaging
