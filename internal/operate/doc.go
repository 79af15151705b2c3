// Package operate is what an operator does with crawls, for the command line and the API: it reads which crawls, critics and
// guides exist, writes control records so that of two operators one is refused, and checks a change before it is written.
package operate
