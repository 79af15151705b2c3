// Package webclient asks web servers for pages, one request at a time, and trusts nothing that
// comes back: time, header, body and what a body decodes to are bounded, redirects are not
// followed, cookies are not kept, and connections go to public addresses only.
//
// HTTP/1.1 and HTTP/2 (over TLS). Codings: gzip, deflate, br, zstd. Certificates are checked.
//
// # Addresses
//
// What a host name resolves to is checked when the connection is made, after DNS, so that no name can lead into the
// crawler's own network (guard.go). Settings.AllowPrivate permits networks and hosts. The services of the pipeline
// itself (Settings.Own: Kafka, S3, ClickHouse, metrics, the proxy) are refused whatever is permitted (own.go): by the
// address that is connected to, and where they listen on this machine, at each of its addresses.
//
// With a proxy the proxy's address is always connected to, and the proxy looks the names up. Refused before it is asked
// are literal addresses, the names of the pipeline's services, and names that have a refused address according to the
// resolver of this machine (names.go). What cannot be checked: names that this machine's resolver does not know or that
// mean something else at the proxy, and names whose address changes between the two look-ups. A proxy that is to be safe against
// these must itself refuse private addresses. A proxy that serves stored pages says so (webarchive.OfflineHeader); for it
// no name is looked up.
//
// # Proxies
//
// An http:// proxy gets http URLs in absolute form and tunnels for https URLs (CONNECT), as
// usual. A proxy that refuses the tunnel and says that it takes https URLs in absolute form
// (webarchive.AbsoluteFormHeader) gets them so from then on: that is how frozen https pages, which
// have no certificate, are crawled without any setting of their own. Only a proxy that says so
// ever sees the path of an https URL.
//
// # Decisions
//
// 2026-11-21: a size limit cuts a body (Answer.Truncated), because a page's first megabytes are
// the page. A time limit, a broken connection and a broken coding are errors, because the next
// try may bring the whole. A connection that is closed, not broken, before as many bytes have come as Content-Length announces is none
// (CutByDisconnect): most often the length is wrong, and browsers show what came. What is wrong in a way that the next try repeats is ErrMalformed. What was read comes beside the
// error, because of a robots.txt a part is better than nothing.
//
// 2026-11-21: a request is sent once. http.Transport repeats a GET whose kept connection breaks
// before the answer, at once and as often as there are kept connections: behind the back of
// whoever counts tries and keeps pauses. Such a request ends with ErrHungUp, and whoever keeps the
// pauses may ask again, over a new connection (Request.Anew).
package webclient
