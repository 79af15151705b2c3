// Package webclient asks web servers for pages, one request at a time, and trusts nothing that
// comes back: time, header, body and what a body decodes to are bounded, redirects are not
// followed, cookies are not kept, and connections go to public addresses only.
//
// HTTP/1.1 and HTTP/2 (over TLS). Codings: gzip, deflate, br, zstd. Certificates are checked.
//
// # Addresses
//
// What a host name resolves to is looked at when the connection is made, after DNS, so that no
// name can lead into the crawler's own network (guard.go). With a proxy the proxy's address is
// always allowed and resolves the names; URLs that carry a private address as their host are
// refused all the same. Settings.AllowPrivate switches both off.
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
// try may bring the whole.
//
// 2026-11-21: a request is sent once. http.Transport repeats a GET whose kept connection breaks
// before the answer, at once and as often as there are kept connections: behind the back of
// whoever counts tries and keeps pauses. Such a request ends with ErrHungUp, and whoever keeps the
// pauses may ask again, over a new connection (Request.Anew).
package webclient
