// Command testreport reads the output of go test -json and prints a summary: the output of failed
// tests, one line for each package, and at the end the messages of the failed tests again and the
// number of tests. It exits with 1 if a test failed, a package did not build, or no test ran.
package main
