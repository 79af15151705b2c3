// Package taxonomy turns a tree of topics with scarce and uneven examples into a flat list of
// classes that a classifier can be trained on (2002 §3.1), and finds the classes that
// focus topics mean.
//
// Topics are names such as "Science/Chemistry/Compounds"; a name may begin or end with "/".
// Prune goes through the paper's steps in its order:
//
//  1. examples stand at the topics they are labelled with, internal or leaf;
//  2. a minimum k is set;
//  3. while some leaf has fewer than k examples, they move to its parent and it is deleted;
//  4. every internal topic gets a leaf Other, exempt from k, for the examples that stand at the
//     topic itself;
//  5. every class is sampled down to a cap.
//
// What becomes of a leaf depends on what lies below it only, so the outcome does not depend on
// the order in which leaves are taken. An Other without examples would be a class that nothing
// can teach; it is not made.
//
// # Decisions
//
// 2026-11-21: an example with several topics is an example of each of them, as a page listed
// twice in a directory is, but of one class at most once.
//
// 2026-11-21: "Other" is taken: an example labelled "A/Other" is an example of "A" itself, and
// "A/Other/B" is an error.
//
// 2026-11-21: a focus topic may be an internal topic. It means all classes below it, its Other
// included. A topic that was pruned is an error that names the ancestor which took its
// examples: judging pages by that ancestor would be another focus than the one asked for.
//
// 2026-11-21: topics are marked good, with weights, and bad below good ones (Marking; 1999,
// "administration"). The deepest mark decides: R(u) = Σ weight × Pr(class|u) over the classes at
// and below good topics but for those at and below bad ones. Weights lie in (0,1], so R(u) stays a
// number in [0,1]: with all weights 1 a probability, else the expected weight of the page's class.
// Good topics below one another stay refused, as without bad ones: which weight would count? A bad
// topic that takes nothing away is refused too, since whoever marks it means something.
//
// 2026-11-21: the sample is drawn by a hash of seed, class and URL, so that it depends neither
// on the order of the examples nor on those of other classes.
package taxonomy
