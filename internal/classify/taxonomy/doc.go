// Package taxonomy prunes a tree of topics with scarce and uneven examples to a flat list of classes that a
// classifier can be trained on (2002 §3.1), and maps the topics of a crawl's focus to classes.
//
// Topics are names such as "Science/Chemistry/Compounds"; a name may begin or end with "/". Prune takes the
// paper's steps in its order:
//
//  1. examples are at the topics they are labelled with, internal or leaf;
//  2. a minimum k is set;
//  3. while some leaf has fewer than k examples, they move to its parent and it is deleted;
//  4. every internal topic gets a leaf Other, exempt from k, for the examples of the topic itself;
//  5. every class is sampled down to a cap.
//
// Whether a leaf stays depends only on what is below it, so the result does not depend on the order in which
// leaves are visited. An Other without examples is not made, as it could not be trained. The sample is drawn by
// a hash of seed, class and URL, so that it depends neither on the order of the examples nor on those of other
// classes.
//
// An example with several topics is an example of each of them, but of one class at most once. "Other" is
// reserved: an example labelled "A/Other" is an example of "A" itself, and "A/Other/B" is an error.
//
// # Focus
//
// A Marking has good topics with weights, and bad topics below good ones (1999, "administration"). A topic may
// be internal: it means all classes at and below it, its Other included. The deepest mark decides: R(u) = Σ
// weight × Pr(class|u) over the classes at and below good topics except those at and below bad ones. Weights
// are in (0,1], so R(u) is in [0,1]: with all weights 1 a probability, else the expected weight of the page's
// class. Invalid markings are errors with suggestions (docs/decisions/0311).
package taxonomy
