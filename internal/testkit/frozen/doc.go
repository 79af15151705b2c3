// Package frozen opens the data of tests on frozen webs (make test-webs): folders that environment
// variables name, none of it part of the repository. Only tests import it.
package frozen
