// Command explore runs property tests and simulations with new seeds for a bounded time, and
// prints how to repeat each failure:
//
//	explore [-seconds 120] [-seed n] [packages]
//
// It builds the test programs of the packages (by default all of the module) that import rapid or
// crashtest, and finds the tests that call rapid.Check or crashtest.Seeds, directly or indirectly.
// They run on as many processors as there are, in an order drawn from the seed; each run has its
// own seed, and 100 checks or 40 simulated schedules. The tests are repeated with other seeds until
// the time is over or one has failed; building does not count. The main seed is printed first:
// with it the same runs are repeated in the same order. The exit status is 1 if a test has failed.
package main
