// Package data has the commands that read the results of crawls: export, rejudge, query, verify, why and
// serve-web.
package data
