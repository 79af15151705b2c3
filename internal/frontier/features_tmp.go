package frontier

import "forager/schemas"

func featuresOf(t *schemas.LeafTable, l *schemas.Link, dMax int) []*schemas.Feature {
	var out []*schemas.Feature
	at := 0
	for i, leaf := range t.GetLeaves() {
		n := int(t.GetLeafLengths()[i])
		d := 0
		switch {
		case leaf < l.GetFirstLeaf():
			d = int(leaf) - int(l.GetFirstLeaf())
		case leaf > l.GetLastLeaf():
			d = int(leaf) - int(l.GetLastLeaf())
		}
		if d >= -dMax && d <= dMax {
			for _, tok := range t.GetTokens()[at : at+n] {
				out = append(out, &schemas.Feature{Term: t.GetTerms()[tok], Offset: int32(d), Count: 1})
			}
		}
		at += n
	}
	return out
}
