// Package watches says which events wake the controllers, and turns them into requests. It must not read or write anything.
package watches
