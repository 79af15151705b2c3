// Package webclient makes requests to web servers that are not trusted, one at a time: time, header, body and
// decoded body are bounded, redirects are not followed, cookies are not kept, and connections go to public
// addresses only.
//
// HTTP/1.1 and HTTP/2 (over TLS). Codings: gzip, deflate, br, zstd. Certificates are checked.
//
// # Addresses
//
// Addresses are checked when the connection is made, after DNS, so that no host name can lead into the
// crawler's own network (guard.go). Settings.AllowPrivate permits networks and hosts. The services of the
// pipeline itself (Settings.Own: Kafka, S3, ClickHouse, metrics, proxy, resolver) are refused whatever is permitted
// (own.go): by the address that is connected to and, where they listen on this machine, at each of its
// addresses (docs/decisions/0070).
//
// With a proxy, the proxy's address is always connected to, and the proxy looks the names up. Refused before
// the request are literal addresses that are refused without a proxy, the names of the pipeline's services, and
// names that have a refused address according to Settings.Resolver (names.go, docs/decisions/0060).
// For a proxy that serves stored pages, which identifies itself by webarchive.OfflineHeader, no name is looked
// up.
//
// # Proxies
//
// An http:// proxy gets http URLs in absolute form and tunnels for https URLs (CONNECT), as usual. A proxy that
// refuses the tunnel with webarchive.AbsoluteFormHeader gets https URLs in absolute form from then on: so
// frozen https pages, which have no certificate, are crawled without a setting. Only a proxy that sends this
// header gets the path of an https URL.
//
// # Errors
//
// A size limit cuts a body (Response.Truncated). A time limit, a broken connection and a broken coding are
// errors, as the next attempt may return the whole; what the next attempt would repeat is ErrMalformed. What
// was read is returned with the error. A request is sent once: the retries of http.Transport are suppressed and
// end with ErrHungUp (docs/decisions/0334).
package webclient
