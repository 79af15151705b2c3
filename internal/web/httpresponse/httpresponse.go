package httpresponse

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// SniffLength is the number of first bytes of a body that HTML looks at.
const SniffLength = 512

// Meaning is the classification of a response.
type Meaning struct {
	Outcome schemas.Outcome
	// Detail is one line for people; empty for OUTCOME_DELIVERED.
	Detail string
	// Redirect is the canonical target; set exactly for OUTCOME_REDIRECTED.
	Redirect string
}

// Of classifies the response to a request for url. body is the decoded body, of which the first SniffLength bytes
// are enough.
//
//   - 200: OUTCOME_DELIVERED where it is HTML, else OUTCOME_NOT_HTML; every other 2xx is
//     OUTCOME_NOT_HTML.
//   - 300–303, 307, 308 with a Location that is a URL other than url: OUTCOME_REDIRECTED; every
//     other 3xx is OUTCOME_BAD_REDIRECT.
//   - 429: OUTCOME_DEFERRED; every other 4xx is OUTCOME_CLIENT_ERROR.
//   - 5xx: OUTCOME_SERVER_ERROR. Any other number: OUTCOME_CONNECTION_FAILED.
func Of(url weburl.URL, status int, location, contentType string, body []byte) Meaning {
	switch {
	case status == http.StatusOK:
		if HTML(contentType, body) {
			return Meaning{Outcome: schemas.Outcome_OUTCOME_DELIVERED}
		}
		return Meaning{Outcome: schemas.Outcome_OUTCOME_NOT_HTML, Detail: fmt.Sprintf("content type %.100q, content %s", contentType, sniffed(body))}
	case status >= 200 && status < 300:
		return Meaning{Outcome: schemas.Outcome_OUTCOME_NOT_HTML, Detail: statusLine(status)}
	case status >= 300 && status < 400:
		return redirect(url, status, location)
	case status == http.StatusTooManyRequests:
		return Meaning{Outcome: schemas.Outcome_OUTCOME_DEFERRED, Detail: statusLine(status)}
	case status >= 400 && status < 500:
		return Meaning{Outcome: schemas.Outcome_OUTCOME_CLIENT_ERROR, Detail: statusLine(status)}
	case status >= 500 && status < 600:
		return Meaning{Outcome: schemas.Outcome_OUTCOME_SERVER_ERROR, Detail: statusLine(status)}
	}
	return Meaning{Outcome: schemas.Outcome_OUTCOME_CONNECTION_FAILED, Detail: fmt.Sprintf("status %d is none", status)}
}

func statusLine(status int) string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", status, http.StatusText(status)))
}

func redirect(url weburl.URL, status int, location string) Meaning {
	bad := func(format string, args ...any) Meaning {
		return Meaning{Outcome: schemas.Outcome_OUTCOME_BAD_REDIRECT, Detail: statusLine(status) + " " + fmt.Sprintf(format, args...)}
	}
	switch status {
	case 300, 301, 302, 303, 307, 308:
	default:
		return bad("is no redirect")
	}
	if location == "" {
		return bad("without Location")
	}
	target, err := weburl.NewBase(url).Resolve(location)
	switch {
	case err != nil:
		return bad("to no usable URL: %v", err)
	case target == url:
		return bad("to itself")
	}
	return Meaning{Outcome: schemas.Outcome_OUTCOME_REDIRECTED, Detail: statusLine(status), Redirect: target.String()}
}

// HTML reports whether a body is HTML by its Content-Type header and its first bytes.
func HTML(contentType string, body []byte) bool {
	switch media := mediaType(contentType); media {
	case "text/html", "application/xhtml+xml":
		// No format with a signature. Other data that is not text counts: pages contain stray control bytes, and UTF-16
		// without a mark looks like it.
		s := sniffed(body)
		return strings.HasPrefix(s, "text/") || s == "application/octet-stream"
	case "", "text/plain", "application/octet-stream", "unknown/unknown", "application/unknown", "*/*":
		return strings.HasPrefix(sniffed(body), "text/html")
	case "text/xml", "application/xml":
		start := bytes.ToLower(body[:min(len(body), SniffLength)])
		return bytes.Contains(start, []byte("<html"))
	}
	return false
}

// MayBeHTML reports whether HTML could be true for some body under the type; otherwise the body need not be read.
func MayBeHTML(contentType string) bool {
	return HTML(contentType, []byte("<html>"))
}

// mediaType returns the type without its parameters, in lower case; an invalid type is cut at ";".
func mediaType(contentType string) string {
	if media, _, err := mime.ParseMediaType(contentType); err == nil {
		return media
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func sniffed(body []byte) string { return http.DetectContentType(body[:min(len(body), SniffLength)]) }
