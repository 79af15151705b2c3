// Package lab is the command line of forager-lab, parsed by kong as that of forager.
package lab
