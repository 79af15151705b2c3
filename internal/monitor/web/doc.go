// Package web is the monitor's page: html/template, one style sheet and a script of some lines, all from the program itself. Charts are
// SVG that is drawn here. Each view works without the script, which only renews what is marked as live when crawls change. Whatever
// comes from the web is text (view.Plain); stored copies are shown in a sandboxed frame under a policy of their own.
package web
