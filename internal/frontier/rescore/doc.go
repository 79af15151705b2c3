// Package rescore places the entries of a shard again under a new model or new policies, call by call, and prepares verdicts
// before they are applied. Both read and score on all processors (Workers) and change the shard on one.
//
// A pass goes through the frontier in two ways at once: the best entries first, and the others in the order of their discovery,
// in batches whose links are scored in advance. A pass is finished under the model that it was begun with; then the newest one
// is used. See docs/decisions/0090 (what a pass scores), 0104 (its order), 0105 (prepared verdicts).
package rescore
