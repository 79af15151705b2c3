// Package localgraph builds layered graphs of the pages around known targets, by following links backwards: the context
// graphs of Diligenti et al. (2000, §3.1) and the layers of Liu, Milios & Janssen (2008). A page of layer i leads to a
// target in i clicks.
//
//	targets, links → Build → Graph: layers of pages, with the number of ways down
//
// One graph is built for each target. Its layer i+1 has the pages that link to layer i and are in no lower layer of the
// same graph, so the layer of a page is its distance from the target. A page counts once for each of its links into the
// layer below ("the parent document appears two times"). Where a layer has more pages than Settings.Cap, a sample is
// kept, and only the sample is followed further. The graphs are merged layer by layer: a page in layer 1 of one graph and
// in layer 2 of another is in both layers of the result.
//
// The sample of a layer depends on the seed, the target and the layer alone, not on the order of targets or links.
package localgraph
