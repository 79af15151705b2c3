// Package turns decides which of the processes that fetch may request an address next, from a log that all of them
// read in the same order (topic fetch.turn). It uses no clock and no broker: times are arguments, those of the process's own clock
// when it read the records.
//
// A turn is written to the log before it is used and is ended by a second record. So of any two turns that conflict every
// process finds the same one first, as it reads its own turn behind all earlier ones. The pause counts from the time at which the end
// is read, which is not before the end; so neither clocks of machines nor delays of the log shorten it. The end of a process that died
// does not come: its turns end after the duration in their record, counted from the time at which they are read. The process itself
// counts from the time at which it asked, which is earlier.
package turns
