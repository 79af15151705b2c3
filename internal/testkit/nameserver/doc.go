// Package nameserver is a DNS server for tests, which can be stopped and started at the same address. Only tests import
// it.
package nameserver
