// Package report has the commands below "forager report": they show what a crawl gave, what it learned, and how it treated
// hosts.
package report
