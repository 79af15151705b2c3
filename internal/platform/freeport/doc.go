// Package freeport finds loopback addresses for servers that another process starts a moment later, or restarts.
//
// It does not use the ports that the system assigns for port 0. Once such a port is closed, the next server with port 0, or an
// outgoing connection, may get it before the server that it was found for. Ports below the range that the system assigns are
// taken only by programs that name them. A process never finds the same port twice, and until it ends no other process
// finds that one.
package freeport
