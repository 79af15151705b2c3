package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forager/internal/frontier/why"
	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/strictyaml"
	"forager/schemas"
)

// version of the interface.
const version = "1.0.0"

// Register adds the interface to a server and returns its description.
func Register(mux *http.ServeMux, s *view.Source) *huma.OpenAPI {
	config := huma.DefaultConfig("Forager", version)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.OpenAPIPath = "/api/v1/openapi"
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	config.Security = []map[string][]string{{"token": {}}}
	a := humago.New(mux, config)
	reads(a, s)
	changes(a, s)
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) { events(w, r, s) })
	return a.OpenAPI()
}

// One is the path of a crawl. Like Part it is exported because huma sets no fields of others.
type One struct {
	Crawl string `path:"crawl" maxLength:"64"`
}

// Part is the part of a list that is wanted.
type Part struct {
	Cursor string `query:"cursor" pattern:"^[0-9]{0,7}$" doc:"Next of the response before; empty = the beginning."`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

func (p *Part) skip() (int, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(p.Cursor)
	if err != nil || n > 1e6 {
		return 0, huma.Error422UnprocessableEntity("cursor is none that a response had")
	}
	return n, nil
}

// list is the response of a list.
type list[T any] struct {
	Body struct {
		Items []T    `json:"items"`
		Next  string `json:"next,omitempty" doc:"Cursor of what follows; absent at the end."`
	}
}

// listed makes the response of what was asked for with one item more than the limit.
func listed[T any](items []T, skip, limit int) *list[T] {
	l := new(list[T])
	l.Body.Items = append([]T{}, items[:min(limit, len(items))]...)
	if len(items) > limit {
		l.Body.Next = strconv.Itoa(skip + limit)
	}
	return l
}

// tagged is a crawl, or what changed in it, with its revision.
type tagged[T any] struct {
	ETag string `header:"ETag"`
	Body T
}

func tag(revision uint64) string { return strconv.Quote(strconv.FormatUint(revision, 10)) }

// register registers an operation whose errors become problems.
func register[I, O any](a huma.API, op huma.Operation, do func(context.Context, *I) (*O, error)) {
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, Problem(err)
		}
		return out, nil
	})
}

func crawlOf(s *view.Source, name string) (*tagged[*view.Crawl], error) {
	c, err := s.Crawl(name)
	if err != nil {
		return nil, err
	}
	return &tagged[*view.Crawl]{tag(c.Revision), c}, nil
}

// asked registers a list of a crawl that ClickHouse is asked for.
func asked[I any, P interface {
	*I
	parts() (crawl string, p *Part)
}, T any](a huma.API, s *view.Source, id, path, summary string, get func(ctx context.Context, in *I, skip, most int) ([]T, error)) {
	register(a, huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary}, func(ctx context.Context, in *I) (*list[T], error) {
		crawl, p := P(in).parts()
		skip, err := p.skip()
		if err != nil {
			return nil, err
		}
		if crawl != "" {
			if _, err := s.Topics.Control(crawl); err != nil {
				return nil, err
			}
		}
		items, err := get(view.Ask(ctx), in, skip, p.Limit+1)
		return listed(items, skip, p.Limit), err
	})
}

// whole is for asked: a list that is read as a whole, whatever part of it is returned.
func whole[I, T any](get func(ctx context.Context, in *I) ([]T, error)) func(ctx context.Context, in *I, skip, most int) ([]T, error) {
	return func(ctx context.Context, in *I, skip, most int) ([]T, error) {
		all, err := get(ctx, in)
		return all[min(skip, len(all)):min(skip+most, len(all))], err
	}
}

// OfCrawl asks for a list of a crawl.
type OfCrawl struct {
	One
	Part
}

func (in *OfCrawl) parts() (string, *Part) { return in.Crawl, &in.Part }

func (p *Part) parts() (string, *Part) { return "", p }

type ofHosts struct {
	OfCrawl
	By string `query:"by" enum:"yield,waste,pause,robots,failures" default:"yield"`
}

type ofPages struct {
	OfCrawl
	URL   string  `query:"url" maxLength:"4096" doc:"The requests of this URL only."`
	Above float64 `query:"above" minimum:"0" maximum:"1" doc:"Delivered pages of this relevance at least."`
}

type ofLinks struct {
	OfCrawl
	URL string `query:"url" required:"true" maxLength:"4096" doc:"The page whose links are wanted."`
}

type ofURL struct {
	One
	URL string `query:"url" required:"true" maxLength:"4096" doc:"Of the crawl or not."`
}

func reads(a huma.API, s *view.Source) {
	register(a, huma.Operation{OperationID: "list-crawls", Method: http.MethodGet, Path: "/api/v1/crawls", Summary: "Crawls with their states"},
		func(_ context.Context, in *Part) (*list[*view.Crawl], error) {
			skip, err := in.skip()
			if err != nil {
				return nil, err
			}
			all := s.Crawls()
			return listed(all[min(skip, len(all)):], skip, in.Limit), nil
		})
	register(a, huma.Operation{OperationID: "get-crawl", Method: http.MethodGet, Path: "/api/v1/crawls/{crawl}", Summary: "State of a crawl"},
		func(_ context.Context, in *One) (*tagged[*view.Crawl], error) { return crawlOf(s, in.Crawl) })
	register(a, huma.Operation{OperationID: "list-stages", Method: http.MethodGet, Path: "/api/v1/stages", Summary: "How far the stages are behind, in the order of a page's journey"},
		func(context.Context, *struct{}) (*list[operate.StageLag], error) {
			all := s.Stages()
			return listed(all, 0, len(all)), nil
		})
	asked(a, s, "get-curve", "/api/v1/crawls/{crawl}/curve", "Harvest over the delivered pages",
		whole(func(ctx context.Context, in *OfCrawl) ([]view.Point, error) { return s.Curve(ctx, in.Crawl) }))
	asked(a, s, "list-turns", "/api/v1/crawls/{crawl}/turns", "Models and changes of settings, with the pages delivered by then",
		whole(func(ctx context.Context, in *OfCrawl) ([]view.Turn, error) {
			points, err := s.Curve(ctx, in.Crawl)
			if err != nil {
				return nil, err
			}
			return s.Turns(ctx, in.Crawl, points)
		}))
	asked(a, s, "get-arms", "/api/v1/crawls/{crawl}/arms", "What the arms of the mixture chose and brought, over the requests",
		whole(func(ctx context.Context, in *OfCrawl) ([]analytics.ArmPoint, error) {
			return s.DB.Report(in.Crawl).ArmPoints(ctx)
		}))
	asked(a, s, "list-rejudged", "/api/v1/crawls/{crawl}/rejudged", "Harvest by the judgements of other critics (forager rejudge)",
		whole(func(ctx context.Context, in *OfCrawl) ([]analytics.Rejudged, error) {
			return s.DB.Report(in.Crawl).Rejudged(ctx)
		}))
	asked(a, s, "list-hosts", "/api/v1/crawls/{crawl}/hosts", "Hosts by what they gave, wasted or failed, by pauses or by robots.txt",
		func(ctx context.Context, in *ofHosts, skip, most int) ([]analytics.Host, error) {
			return s.DB.Hosts(ctx, in.Crawl, in.By, skip, most)
		})
	asked(a, s, "list-treated-hosts", "/api/v1/crawls/{crawl}/treatment", "Hosts by how they were treated: pauses, refusals, robots.txt, waiting",
		func(ctx context.Context, in *OfCrawl, skip, most int) ([]analytics.Treated, error) {
			all, err := s.DB.Report(in.Crawl).Treated(ctx, skip+most)
			return all[min(skip, len(all)):], err
		})
	asked(a, s, "list-pages", "/api/v1/crawls/{crawl}/pages", "Requests of a URL, or the newest delivered pages",
		func(ctx context.Context, in *ofPages, skip, most int) ([]analytics.SeenPage, error) {
			return s.DB.SeenPages(ctx, in.Crawl, in.URL, in.Above, skip, most)
		})
	asked(a, s, "list-leaps", "/api/v1/crawls/{crawl}/leaps", "Links of a page with predictions, and what came of them",
		func(ctx context.Context, in *ofLinks, skip, most int) ([]analytics.SeenLink, error) {
			all, err := s.DB.SeenLinks(ctx, in.Crawl, in.URL, skip+most)
			return all[min(skip, len(all)):], err
		})
	asked(a, s, "list-topics", "/api/v1/crawls/{crawl}/topics", "Topics with the pages about them",
		whole(func(ctx context.Context, in *OfCrawl) ([]view.Topic, error) { return s.TopicsOf(ctx, in.Crawl) }))
	register(a, huma.Operation{OperationID: "get-why", Method: http.MethodGet, Path: "/api/v1/crawls/{crawl}/why", Summary: "Why a URL was fetched, waits or was refused"},
		func(ctx context.Context, in *ofURL) (*struct{ Body *operate.Explanation }, error) {
			e, err := s.Why(ctx, in.Crawl, in.URL)
			return &struct{ Body *operate.Explanation }{e}, err
		})
	register(a, huma.Operation{OperationID: "get-queues", Method: http.MethodGet, Path: "/api/v1/crawls/{crawl}/queues", Summary: "The best and the oldest queued URLs, with what each waits for"},
		func(ctx context.Context, in *One) (*struct{ Body *why.Queues }, error) {
			q, err := s.Queues(ctx, in.Crawl)
			return &struct{ Body *why.Queues }{q}, err
		})
	asked(a, s, "list-models", "/api/v1/crawls/{crawl}/models", "Models of a crawl, the newest first",
		func(ctx context.Context, in *OfCrawl, skip, most int) ([]analytics.MadeModel, error) {
			return s.DB.MadeModels(ctx, in.Crawl, skip, most)
		})
	asked(a, s, "get-calibration", "/api/v1/crawls/{crawl}/calibration", "Scores at dispatch against R, by policy and tenth",
		whole(func(ctx context.Context, in *OfCrawl) ([]analytics.Tenth, error) {
			return s.DB.Report(in.Crawl).Tenths(ctx)
		}))
	asked(a, s, "list-dead-letters", "/api/v1/dead-letters", "Records that no stage could handle, by class of error",
		func(ctx context.Context, _ *Part, skip, most int) ([]analytics.Letters, error) {
			all, err := s.DB.Letters(ctx, skip+most)
			return all[min(skip, len(all)):], err
		})
	register(a, huma.Operation{OperationID: "query", Method: http.MethodPost, Path: "/api/v1/query", Summary: "Rows of a query that reads, bounded in time and number",
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusConflict, http.StatusServiceUnavailable}},
		func(ctx context.Context, in *struct {
			Body struct {
				SQL   string `json:"sql" minLength:"1" maxLength:"20000"`
				Crawl string `json:"crawl,omitempty" maxLength:"200" doc:"Value of {crawl:String} in the query."`
			}
		}) (*struct{ Body *view.Rows }, error) {
			rows, err := s.Query(ctx, in.Body.SQL, in.Body.Crawl)
			return &struct{ Body *view.Rows }{rows}, err
		})
}

// Revised asks for a change of a crawl.
type Revised struct {
	One
	IfMatch string `header:"If-Match" pattern:"^([*]|\"?[1-9][0-9]{0,18}\"?)?$" doc:"ETag of the crawl from which the change was derived; absent = whatever is in force."`
}

// seen returns the revision from which the change was derived; 0 = that in force.
func (r *Revised) seen() (seen uint64, err error) {
	if r.IfMatch != "" && r.IfMatch != "*" {
		if seen, err = strconv.ParseUint(strings.Trim(r.IfMatch, `"`), 10, 64); err != nil || seen == 0 {
			return 0, huma.Error412PreconditionFailed("If-Match is no ETag of a crawl")
		}
	}
	return seen, nil
}

type change[B any] struct {
	Revised
	Body B
}

func changes(a huma.API, s *view.Source) {
	plain := func(name, summary string, do func(context.Context, string, uint64) error) {
		register(a, operation(name, summary), func(ctx context.Context, in *Revised) (*tagged[*view.Crawl], error) {
			return changed(s, in, func(seen uint64) error { return do(ctx, in.Crawl, seen) })
		})
	}
	plain("pause", "Pause a crawl; requests in flight end", s.SetState(schemas.CrawlState_CRAWL_STATE_PAUSED))
	plain("stop", "Stop a crawl", s.SetState(schemas.CrawlState_CRAWL_STATE_STOPPED))
	with(a, s, "resume", "Continue a crawl, with a larger budget, seeds or further tries", s.Resume)
	with(a, s, "ranker", "Change the rankers", s.Rank)
	with(a, s, "focus", "Mark topics good or bad, or change their weights", s.Focus)
	with(a, s, "critic", "Change the critics", s.Judge)
	with(a, s, "model", "Rank by a model", s.Pin)
	register(a, operation("change", "Change settings of the crawl file, or show what would be changed or refused"),
		func(ctx context.Context, in *change[view.Settings]) (*tagged[*operate.Change], error) {
			seen, err := in.seen()
			if err != nil {
				return nil, err
			}
			x, err := s.Change(ctx, in.Crawl, seen, &in.Body)
			if err != nil {
				return nil, err
			}
			return &tagged[*operate.Change]{tag(x.Revision), x}, nil
		})
	with(a, s, "seeds", "Give a crawl more seeds", s.Seed)
	with(a, s, "marks", "Keep a verdict on pages for the next training of the critic", s.Mark)
	start := operation("start-crawl", "Start a crawl by its crawl file, in YAML or JSON, which may name no files")
	start.Path, start.DefaultStatus = "/api/v1/crawls", http.StatusCreated
	register(a, start, func(ctx context.Context, in *struct {
		RawBody []byte `contentType:"application/yaml"`
	}) (*created, error) {
		name, err := s.Start(ctx, in.RawBody)
		if err != nil {
			return nil, err
		}
		c, err := s.Crawl(name)
		if err != nil {
			return nil, err
		}
		return &created{"/api/v1/crawls/" + name, tag(c.Revision), c}, nil
	})
	deletion := operation("delete-crawl", "Delete a crawl with its rows, models and pages; may be sent again, and then goes on or waits for its end")
	deletion.Method, deletion.Path = http.MethodDelete, "/api/v1/crawls/{crawl}"
	deletion.Responses = map[string]*huma.Response{"202": {Description: "The deletion goes on; send the request again for its result."}}
	register(a, deletion, func(ctx context.Context, in *struct {
		Revised
		view.Delete
	}) (*deleted, error) {
		seen, err := in.seen()
		if err != nil {
			return nil, err
		}
		d, ended, err := s.Delete(ctx, in.Crawl, seen, &in.Delete)
		if !ended {
			return &deleted{http.StatusAccepted, d}, err
		}
		return &deleted{http.StatusOK, d}, err
	})
	letters(a, s, "replay", "Try the requests of dead letters once more; does not wait until the crawls have taken it", operate.Replay)
	letters(a, s, "drop", "Take dead letters out of lists and counts", operate.Drop)
}

type created struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     *view.Crawl
}

type deleted struct {
	Status int
	Body   *operate.Deletion
}

// letters registers what is done with dead letters.
func letters[R any](a huma.API, s *view.Source, name, summary string, do func(context.Context, *operate.Topics, *operate.LetterChoice) (*R, error)) {
	op := operation(name, summary)
	op.OperationID, op.Path = name+"-dead-letters", "/api/v1/dead-letters/"+name
	register(a, op, func(ctx context.Context, in *struct{ Body operate.LetterChoice }) (*struct{ Body *R }, error) {
		result, err := do(ctx, s.Topics, &in.Body)
		return &struct{ Body *R }{result}, err
	})
}

func operation(name, summary string) huma.Operation {
	return huma.Operation{
		OperationID: name, Method: http.MethodPost, Path: "/api/v1/crawls/{crawl}/" + name, Summary: summary,
		Errors: []int{
			http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity,
			http.StatusServiceUnavailable,
		},
	}
}

func with[B any](a huma.API, s *view.Source, name, summary string, do func(context.Context, string, uint64, *B) error) {
	register(a, operation(name, summary), func(ctx context.Context, in *change[B]) (*tagged[*view.Crawl], error) {
		return changed(s, &in.Revised, func(seen uint64) error { return do(ctx, in.Crawl, seen, &in.Body) })
	})
}

func changed(s *view.Source, in *Revised, do func(seen uint64) error) (*tagged[*view.Crawl], error) {
	seen, err := in.seen()
	if err != nil {
		return nil, err
	}
	if err := do(seen); err != nil {
		return nil, err
	}
	return crawlOf(s, in.Crawl)
}

// Problem returns an error with the status of a response. What is wrong with a crawl file has the setting as its location.
func Problem(err error) huma.StatusError {
	if already := huma.StatusError(nil); errors.As(err, &already) {
		return already
	}
	text := view.Plain(strings.ReplaceAll(err.Error(), "\n  ", "; "))
	if wrong := new(strictyaml.Error); errors.As(err, &wrong) {
		var settings []error
		for _, p := range wrong.Problems {
			settings = append(settings, &huma.ErrorDetail{Message: view.Plain(p.Message), Location: p.Path})
		}
		return huma.Error422UnprocessableEntity(text, settings...)
	}
	switch {
	case errors.Is(err, operate.ErrUnknown):
		return huma.Error404NotFound(text)
	case errors.Is(err, operate.ErrChanged):
		return huma.Error412PreconditionFailed(text)
	case errors.Is(err, operate.ErrRefused):
		return huma.Error409Conflict(text)
	case operate.Away(err):
		return huma.Error503ServiceUnavailable(text)
	}
	return huma.Error422UnprocessableEntity(text)
}
