package model

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
)

type modelsUse struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Model string        `arg:"" help:"Version of a model of this crawl, with or without its name; newest = the newest, as they come."`
	Wait  time.Duration `help:"How long to wait until the crawl ranks by it; 0 = do not wait." default:"60s"`
}

func (c *modelsUse) Help() string {
	return `The crawl ranks by that model from now on, whatever newer ones come, and its frontier is scored again. Training
goes on; its models are kept and not used, until

  forager models use CRAWL newest

A crawl that is to learn from where an older model stood is another crawl (learning.prior in its file).`
}

func (c *modelsUse) Run(s *cli.Session) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	version := c.Model
	switch {
	case version == "newest":
		version = ""
	case b.Published(version).GetKind() == "critic":
		return fmt.Errorf("%s is a critic, which judges pages; a crawl ranks by an apprentice (forager models list %s)", version, c.Crawl)
	case !strings.Contains(version, "/"):
		version = c.Crawl + "/" + version
	}
	ctl, err := operate.PinModel(s, b, store, c.Crawl, 0, version)
	if err != nil {
		return err
	}
	want := version
	if want == "" {
		want = b.Apprentice(c.Crawl).GetVersion()
	}
	if c.Wait > 0 {
		ok, err := operate.Poll(s, c.Wait, func() (bool, error) {
			st := b.Status(c.Crawl)
			// A crawl that learns may have a newer one by the time of its status.
			if version == "" && b.Published(st.GetModel()).GetPages() > b.Published(want).GetPages() {
				want = st.GetModel()
			}
			return st.GetModel() == want || operate.Ended(st), nil
		})
		if err == nil && !ok {
			err = fmt.Errorf("crawl %q is to rank by %s, but does not yet after %s (%s); a newer model waits until a large frontier was scored and for twice as long, else: does prioritize run? (forager up starts it)",
				c.Crawl, cmp.Or(want, "no model"), c.Wait, cmp.Or(b.Status(c.Crawl).GetActivity(), "no pass is under way"))
		}
		if err != nil {
			return cli.Leaving(err, "crawl %q ranks by %s all the same, before long", c.Crawl, cmp.Or(want, "no model"))
		}
	}
	return s.Print(map[string]any{"crawl": c.Crawl, "model": want, "pinned": ctl.GetLearning().GetPinned() != ""}, func(w io.Writer) {
		if version == "" {
			fmt.Fprintf(w, "%s ranks by the newest model, now %s\n", c.Crawl, cmp.Or(want, "none"))
		} else {
			fmt.Fprintf(w, "%s ranks by %s until it is changed (forager models use %s newest)\n", c.Crawl, version, c.Crawl)
		}
	})
}
