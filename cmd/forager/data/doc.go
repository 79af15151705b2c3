// Package data has the commands that read the results of crawls: report, export, query, verify and
// serve-web.
package data
