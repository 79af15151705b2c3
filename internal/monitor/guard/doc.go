// Package guard protects the monitor's server: who has no token gets nothing, other sites can neither frame it nor send forms to it, names
// that do not belong to the server are refused (DNS rebinding), and pages run no script but the server's own.
package guard
