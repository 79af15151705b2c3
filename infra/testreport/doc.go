// Command testreport reads the output of go test -json and prints what a person needs: the
// output of failed tests, one line a package, and at the end what the failed tests said
// themselves, once more, and how many tests ran. It exits 1 when a test failed, a package did not
// build, or nothing ran.
package main
