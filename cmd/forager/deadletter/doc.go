// Package deadletter has the commands below "forager dead": they list, show, replay and drop records that no
// stage could handle.
package deadletter
