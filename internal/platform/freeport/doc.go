// Package freeport finds loopback addresses for servers that somebody else starts a moment later,
// or starts again and again.
//
// # Decisions
//
// 2026-11-21: not the ports that the system gives out for port 0. Once such a port is closed, the
// next server with port 0 may get it, or an outgoing connection, before the one that it was found
// for, or while that one restarts; where much goes on, as in tests, this happens. Ports below
// those that the system gives out are taken only by who names them. A process finds none twice.
package freeport
