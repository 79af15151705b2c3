// Package pagetest draws pages for the tests of comparators that are guides.
package pagetest
