package root

import (
	"fmt"

	"forager/cmd/forager/completion"
	"forager/cmd/internal/cli"
)

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

func (c *completionCommand) Help() string {
	return `Prints what the shell has to read once to complete commands, flags and the names of crawls and models:

  source <(forager completion bash)
  source <(forager completion zsh)
  forager completion fish | source`
}

func (c *completionCommand) Run(s *cli.Session) error {
	script, err := completion.Script(c.Shell)
	if err != nil {
		return err
	}
	fmt.Fprint(s.Stdout, script)
	return nil
}
