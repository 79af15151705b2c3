// Package notify derives events from crawl.status and dead.letter, for the monitor's stream of events, and sends them to webhooks.
//
// The ID of an event follows from its cause: the crawl, the kind, and the requests, pages or offset at which it happened. An event is made
// once a cause, also across restarts: an object in the bucket, below monitor/events/, has what was derived and what is still to be sent.
// Replica 0 of the monitor keeps that object and sends; others derive the events of their own streams. Of several processes with that
// number the one sends that stores first, as an event is stored before it is sent.
//
// A receiver is sent one event at a time, in order, until it responds with 2xx, with pauses that grow. It costs a goroutine, a bounded
// number of waiting events and the header of its response.
package notify
