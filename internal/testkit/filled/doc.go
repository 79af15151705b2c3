// Package filled fills records for tests of what is made of all of their fields.
package filled
