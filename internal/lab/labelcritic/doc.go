// Package labelcritic is a critic that judges pages by their labels: always right, or wrong at known rates. Experiments measure with
// it what rankers lose by the errors of critics.
package labelcritic
