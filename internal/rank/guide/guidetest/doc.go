// Package guidetest draws pages for the tests of guides, and compares what two guides say.
package guidetest
