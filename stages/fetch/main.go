package main

import (
	"context"

	"forager/internal/platform/boot"
)

func main() {
	boot.Main(name, func(ctx context.Context, env *boot.Env) error {
		return run(ctx, env.Config, env.Replica, env.Log, env.Metrics)
	})
}
