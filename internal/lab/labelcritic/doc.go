// Package labelcritic has critics that only experiments can have: one that judges pages by their labels, always right or wrong at known
// rates, and one that is trained on examples of the focus alone. With them experiments measure what rankers lose by the errors of critics.
package labelcritic
