package experiment

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"forager/internal/critic"
	"forager/internal/linkfeature"
)

// Prepare loads the webs of the tasks from a folder, trains their critics and judges their
// pages: the grounds on which crawls are made. Each web is read once.
func Prepare(f *TaskFile, dir string, tasks []*Task, settings linkfeature.Settings) (map[*Task]*Ground, error) {
	webs := make(map[string]*Web)
	critics := make(map[string]*critic.Model)
	for _, t := range tasks {
		if webs[t.Warc] == nil {
			w, err := LoadWeb(filepath.Join(dir, t.Warc))
			if err != nil {
				return nil, err
			}
			webs[t.Warc] = w
		}
		if critics[t.Critic] == nil {
			m, err := TrainCritic(f, t.Critic, webs[t.Warc])
			if err != nil {
				return nil, err
			}
			critics[t.Critic] = m
		}
	}
	grounds := make(map[*Task]*Ground, len(tasks))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for _, t := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			g, err := NewGround(f, t, webs[t.Warc], critics[t.Critic], settings)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failed == nil {
				failed = fmt.Errorf("task %s: %w", t.Name, err)
			}
			grounds[t] = g
		})
	}
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	return grounds, nil
}
