// Package frozen opens the data of tests on frozen webs (make test-webs): folders named by environment
// variables, none of which is part of the repository. Only tests import it.
package frozen
