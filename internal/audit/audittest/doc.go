// Package audittest has the evidence of an audit in memory, which tests can alter.
package audittest
