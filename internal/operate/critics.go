package operate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/classify/criticfile"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/taxonomy"
	"forager/internal/platform/objects"
	"forager/internal/platform/registry"
	"forager/schemas"
)

// maxShadows is the number of critics that may judge a crawl in addition to the one that counts.
const maxShadows = 2

// settleJudges puts the versions of named critics into a control record, after checking that the critic, its
// fallback and the shadows exist and have the marked topics.
func settleJudges(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl) error {
	version, err := SettleJudge(ctx, b, store, ctl, ctl.GetCritic())
	if err != nil {
		return err
	}
	ctl.Critic = version
	var shadows []string
	for _, name := range ctl.GetShadows() {
		version, err := SettleJudge(ctx, b, store, ctl, name)
		switch {
		case err != nil:
			return fmt.Errorf("shadow: %w", err)
		case version == ctl.GetCritic() || slices.Contains(shadows, version):
			return fmt.Errorf("shadow: critic %s judges the crawl already", version)
		}
		shadows = append(shadows, version)
	}
	if len(shadows) > maxShadows {
		return fmt.Errorf("there are %d shadows, %d can be", len(shadows), maxShadows)
	}
	ctl.Shadows = shadows
	return nil
}

// SettleJudge finds a critic and returns its version, after checking that it and its fallback have the marked topics.
func SettleJudge(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl, name string) (version string, err error) {
	by, version, err := OpenCritic(ctx, b, store, name)
	if err != nil {
		return "", err
	}
	if _, err := critic.Weigh(by, taxonomy.MarkingOf(ctl)); err != nil {
		return "", fmt.Errorf("critic %s: focus: %w", version, err)
	}
	if p, ok := by.(*httpmodel.Client); ok && p.Fallback() != "" {
		if _, err := SettleJudge(ctx, b, store, ctl, p.Fallback()); err != nil {
			return "", fmt.Errorf("fallback of critic %s: %w", version, err)
		}
	}
	return version, nil
}

// OpenCritic opens a critic by its name or version and checks that it is the one announced. The announcement of
// an older version may be gone, since model.published keeps the newest of a name: then the object is checked
// against the digest in the version.
func OpenCritic(ctx context.Context, b *Topics, store registry.Store, name string) (by critic.Classifier, version string, err error) {
	m, unknown := b.Critic(name)
	data, version, err := fetchNamed(ctx, store, "critic", name, m, unknown)
	if err != nil {
		return nil, "", err
	}
	by, err = criticfile.Open(data, httpmodel.Options{Getenv: os.Getenv})
	if err != nil {
		return nil, "", fmt.Errorf("critic %s: %w", version, err)
	}
	return by, version, nil
}

// fetchNamed reads the file of a critic or a guide that is announced; or else an older version, by its digest.
func fetchNamed(ctx context.Context, store registry.Store, kind, name string, m *schemas.ModelPublished, unknown error) (data []byte, version string, err error) {
	if unknown != nil {
		data, err = olderModel(ctx, store, kind, name, unknown)
		return data, name, err
	}
	data, err = registry.Fetch(ctx, store, m)
	return data, m.GetVersion(), err
}

// olderModel reads a version that is no longer announced; unknown is the error if there is none.
func olderModel(ctx context.Context, store registry.Store, kind, version string, unknown error) ([]byte, error) {
	_, digest, ok := strings.Cut(version, "/")
	if !ok || len(digest) != 12 {
		return nil, unknown
	}
	data, err := store.Get(ctx, schemas.ModelObject(kind, version))
	if errors.Is(err, objects.ErrNotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, version, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:6]) != digest {
		return nil, fmt.Errorf("%s %s: its object does not match its name: it is damaged, take another version or publish it again", kind, version)
	}
	return data, nil
}
