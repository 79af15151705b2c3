package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"forager/cmd/forager/model"
	"forager/cmd/internal/cli"
	"forager/internal/lab/study"
)

type experimentReport struct {
	Folder string `arg:"" help:"Folder of the results." type:"existingdir"`
	HTML   string `name:"html" help:"Write the report as a page to this file." type:"path"`
}

func (c *experimentReport) Run(s *cli.Session) error {
	rep, err := readStudy(c.Folder)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := model.WriteWhole(s, c.HTML, rep.WriteHTML); err != nil {
			return err
		}
	}
	return s.Print(rep, rep.Print)
}

// readStudy reads the report in the folder of a study.
func readStudy(folder string) (*study.Report, error) {
	path := filepath.Join(folder, studyReport)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; \"forager-lab experiment run\" writes it once every run of a plan is made", err)
	}
	rep := new(study.Report)
	if err := json.Unmarshal(b, rep); err != nil {
		return nil, fmt.Errorf("report %s: %w", path, err)
	}
	return rep, nil
}
