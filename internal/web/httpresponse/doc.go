// Package httpresponse classifies HTTP responses for a crawl: delivered page, not HTML, redirect, failure. The stage
// that fetches and the experiments on frozen webs both use it, so that they agree on every page.
//
// # What is HTML
//
// The type text/html or application/xhtml+xml decides, unless the first bytes are those of a known binary
// format (servers send PDF and images under the type of their error pages). A missing type, text/plain and
// application/octet-stream decide nothing, because servers use them for files of unknown type: then the first
// bytes must look like HTML to the sniffing algorithm of browsers. XML types need an <html in the first bytes.
// Every other type is not HTML.
package httpresponse
