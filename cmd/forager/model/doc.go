// Package model has the commands below "forager models", and retrain.
package model
