// Package deadletter has the commands below "forager dead": they list, show and replay records that no
// stage could handle.
package deadletter
