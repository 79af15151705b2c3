// Package rank scores links: what a ranker thinks of one link (u,v), what a gate on u does to
// it, and how several u that point at one v are combined into v's place in the frontier.
package rank
