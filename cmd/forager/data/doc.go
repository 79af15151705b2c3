// Package data has the commands that read the results of crawls: export, query, verify and
// serve-web.
package data
