// Package upgrade tells the Operator Lifecycle Manager whether this is a good moment to replace the operator by its next
// version: the condition Upgradeable of its OperatorCondition is False while something runs that an upgrade would leave
// half done. Where the operator was not installed by the Lifecycle Manager, nothing is told to anybody.
//
// It must not change what it looks at, and must not hold an upgrade up for what does not end by itself.
package upgrade
