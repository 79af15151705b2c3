// Package models publishes critics and guides, and resolves the names of models in control records to
// versions.
package models
