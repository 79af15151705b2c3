package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// admin looks at topics and at the commits of groups, and changes them.
type admin struct{ *cluster }

// Difference is a setting of a topic that differs from pipeline.yaml.
type Difference struct {
	Setting string `json:"setting"` // "partitions", "cleanup.policy", "retention.ms", "max.message.bytes"
	Want    string `json:"want"`
	Have    string `json:"have"`
}

// TopicState is the state of a topic of pipeline.yaml on the broker.
type TopicState struct {
	Topic string `json:"topic"`
	// Missing: it does not exist. Created: Setup has just created it. Neither: it existed.
	Missing bool `json:"missing,omitempty"`
	Created bool `json:"created,omitempty"`
	// Differences from pipeline.yaml; Setup reports them and does not change them.
	Differences []Difference `json:"differences,omitempty"`
}

// OK reports whether the topic is as pipeline.yaml defines it.
func (s TopicState) OK() bool { return !s.Missing && len(s.Differences) == 0 }

func (s TopicState) String() string {
	switch {
	case s.Missing:
		return "topic " + s.Topic + " is missing; forager setup makes it"
	case len(s.Differences) > 0:
		var parts []string
		for _, d := range s.Differences {
			parts = append(parts, fmt.Sprintf("%s is %s, pipeline.yaml has %s", d.Setting, d.Have, d.Want))
		}
		return "topic " + s.Topic + ": " + strings.Join(parts, "; ")
	case s.Created:
		return "topic " + s.Topic + " created"
	}
	return "topic " + s.Topic + " is as in pipeline.yaml"
}

// Setup creates the topics of pipeline.yaml that do not exist, and compares the others. It may
// be called again at any time. States are sorted by topic.
func (a *admin) Setup(ctx context.Context) ([]TopicState, error) {
	states, err := a.Check(ctx)
	if err != nil {
		return nil, err
	}
	var create []kafka.TopicConfig
	for _, s := range states {
		if s.Missing {
			create = append(create, a.topicConfig(s.Topic))
		}
	}
	if len(create) == 0 {
		return states, nil
	}
	err = a.retry(ctx, "the broker to create topics", func(ctx context.Context) error {
		r, err := a.kafka.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: create})
		if err != nil {
			return err
		}
		var errs []error
		for _, t := range slices.Sorted(maps.Keys(r.Errors)) {
			if err := r.Errors[t]; err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
				errs = append(errs, fmt.Errorf("%s: %w", t, err))
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return nil, fmt.Errorf("create topics: %w", err)
	}
	created := map[string]bool{}
	for _, t := range create {
		created[t.Topic] = true
		if _, err := a.Partitions(ctx, t.Topic); err != nil { // wait until it can be used
			return nil, err
		}
	}
	if states, err = a.Check(ctx); err != nil {
		return nil, err
	}
	for i := range states {
		states[i].Created = created[states[i].Topic]
	}
	return states, nil
}

// Check compares the topics of pipeline.yaml with the broker's and changes nothing.
func (a *admin) Check(ctx context.Context) ([]TopicState, error) {
	names := slices.Sorted(maps.Keys(a.topics))
	if len(names) == 0 {
		return nil, nil
	}
	var states []TopicState
	err := a.retry(ctx, "the broker's topics", func(ctx context.Context) (err error) {
		states, err = a.compareTopics(ctx, names)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("compare topics: %w", err)
	}
	return states, nil
}

func (a *admin) compareTopics(ctx context.Context, names []string) ([]TopicState, error) {
	meta, err := a.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, err
	}
	have := map[string]int{}
	for _, t := range meta.Topics {
		switch {
		case t.Error == nil:
			have[t.Name] = len(t.Partitions)
		case !errors.Is(t.Error, kafka.UnknownTopicOrPartition):
			return nil, fmt.Errorf("topic %s: %w", t.Name, t.Error)
		}
	}
	settings, err := a.describe(ctx, slices.Sorted(maps.Keys(have)))
	if err != nil {
		return nil, err
	}
	states := make([]TopicState, 0, len(names))
	for _, name := range names {
		s := TopicState{Topic: name}
		want := a.topicConfig(name)
		n, ok := have[name]
		switch {
		case !ok:
			s.Missing = true
		case n != want.NumPartitions:
			s.Differences = append(s.Differences, Difference{"partitions", strconv.Itoa(want.NumPartitions), strconv.Itoa(n)})
		}
		for _, e := range want.ConfigEntries {
			if got := settings[name][e.ConfigName]; ok && got != e.ConfigValue {
				s.Differences = append(s.Differences, Difference{e.ConfigName, e.ConfigValue, got})
			}
		}
		states = append(states, s)
	}
	return states, nil
}

// describe returns the settings of topics, by topic and name of the setting.
func (a *admin) describe(ctx context.Context, topics []string) (map[string]map[string]string, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	req := &kafka.DescribeConfigsRequest{}
	for _, t := range topics {
		req.Resources = append(req.Resources, kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: t})
	}
	r, err := a.kafka.DescribeConfigs(ctx, req)
	if err != nil {
		return nil, err
	}
	settings := map[string]map[string]string{}
	for _, res := range r.Resources {
		if res.Error != nil {
			return nil, fmt.Errorf("settings of topic %s: %w", res.ResourceName, res.Error)
		}
		m := map[string]string{}
		for _, e := range res.ConfigEntries {
			m[e.ConfigName] = e.ConfigValue
		}
		settings[res.ResourceName] = m
	}
	return settings, nil
}

// topicConfig returns the configuration of a topic by pipeline.yaml.
func (a *admin) topicConfig(name string) kafka.TopicConfig {
	t := a.topics[name]
	policy, retention := "delete", int64(-1)
	if t.Compact {
		policy = "compact"
	} else if t.Retention > 0 {
		retention = int64(t.Retention / time.Millisecond)
	}
	return kafka.TopicConfig{
		Topic: name, NumPartitions: t.Partitions, ReplicationFactor: max(a.cfg.Replication, 1),
		ConfigEntries: []kafka.ConfigEntry{
			{ConfigName: "cleanup.policy", ConfigValue: policy},
			{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(a.maxMessage(name))},
			{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(retention, 10)},
		},
	}
}
