// Package chart draws line and bar charts as SVG for pages that load nothing: text, lines, bars and a key, readable in black
// and white as in colour, with the values of a point shown under the pointer.
package chart
