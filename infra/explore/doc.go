// Command explore runs property tests and simulations with seeds that were not tried before, for a bounded time, and prints how
// to repeat each failure:
//
//	explore [-seconds 120] [-seed n] [packages]
//
// It builds the test programs of the packages (all of the module by default) that import rapid or crashtest, and finds
// the tests in them that lead to rapid.Check or crashtest.Seeds. These run one after another, on as many processors as
// there are, in an order drawn from the seed; each run has a seed of its own, and 100 checks or 40 simulated schedules. When all
// have run they run again with other seeds, until the time is over or one has failed; building is not counted. The seed of
// the whole is printed first: with it the same runs follow one another. The exit status is 1 if a test has failed.
package main
