package stateful

var RetryingFS = retryingFS
