//go:build webs

package linkfeature

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/internal/page/dom"
	"forager/internal/testkit/frozen"
	"forager/internal/web/warc"
	"forager/schemas"
)

// eachPage calls f with the HTML pages of a frozen web.
func eachPage(t *testing.T, web string, f func(p *schemas.Page)) {
	t.Helper()
	for record, err := range warc.Responses(frozen.Path(t, frozen.Webs, web+".warc.gz")) {
		if err != nil {
			t.Fatal(err)
		}
		response, err := record.Response()
		if err != nil {
			t.Fatal(err)
		}
		body, err := response.Payload(4 << 20)
		if err != nil || response.Status != 200 {
			continue
		}
		p, err := dom.Parse(body, response.Header.Get("Content-Type"), record.TargetURI, dom.Settings{})
		if err != nil {
			continue // stored under a name that is no URL
		}
		f(p)
	}
}

// TestWebsFeaturesAreTheDefinition compares the features of links of real pages with the definition,
// and prints how large tables are.
func TestWebsFeaturesAreTheDefinition(t *testing.T) {
	for _, web := range []string{"webkb", "webplatform"} {
		var pages, links, features, table, page, compared int
		eachPage(t, web, func(p *schemas.Page) {
			pages++
			leaves, found, cut, err := Extract(p, nil, Settings{DMax: 5})
			if err != nil || cut {
				t.Errorf("%s: cut %v, %v", p.Url, cut, err)
				return
			}
			links += len(found)
			table += proto.Size(leaves)
			page += proto.Size(p)
			open, err := Open(leaves)
			if err != nil {
				t.Errorf("%s: %v", p.Url, err)
				return
			}
			for i, l := range found {
				got := open.Features(l, 5)
				features += len(got)
				if pages%20 != 0 || i%7 != 0 {
					continue
				}
				compared++
				if diff := cmp.Diff(brute(p, l, 5), got, protocmp.Transform()); diff != "" {
					t.Errorf("%s: link to %s: %s", p.Url, l.Url, diff)
				}
			}
		})
		if pages < 4000 || compared < 500 {
			t.Errorf("%s: %d pages, %d links compared", web, pages, compared)
		}
		t.Logf("%s: %d pages, %d links, %.1f features a link, table %d bytes a page of %d; %d links compared",
			web, pages, links, float64(features)/float64(links), table/pages, page/pages, compared)
	}
}
