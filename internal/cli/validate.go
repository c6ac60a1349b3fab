package cli

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
	"labhub.io/webservice-controller/internal/term"
)

func validateCommand(p *Process) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "validate [PATH...]",
		Short: "Check files without a cluster",
		Long: "validate reads files and directories as the daemon would, and prints what is wrong\n" +
			"with them, a line each: path:line:column: message. Without a PATH it checks the source;\n" +
			"- is standard input. It needs no cluster.",
		Example: "  webservice-controller validate\n" +
			"  webservice-controller validate desired/crd-lab/checkout.yaml\n" +
			"  git show HEAD:desired/web.yaml | webservice-controller validate -",
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usagef("--output %s isn't known: write text or json", strconv.Quote(output))
			}
			return validate(cmd, p, args, output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func validate(cmd *cobra.Command, p *Process, paths []string, asJSON bool) error {
	cfg, err := config.Load(cmd.Flags(), p.Environ)
	if err != nil {
		return usage(err)
	}
	if slices.Contains(paths, "") {
		return usagef("a PATH is empty: name a file or a directory")
	}
	ofSource := len(paths) == 0
	if ofSource {
		if err := notAFile(&cfg); err != nil {
			return err
		}
		paths = []string{cfg.Source.Path}
	}
	s, err := source.Check(cmd.Context(), paths, p.Stdin, sourceConfig(&cfg).Options)
	if cmd.Context().Err() != nil {
		return failed(errors.New("interrupted: not every file was checked"))
	}
	if err != nil {
		return failed(err)
	}
	write := p.validateText
	if asJSON {
		write = p.validateJSON
	}
	if err := write(s); err != nil {
		return failed(err)
	}
	if ofSource && !cfg.Source.AllowEmpty && len(s.Objects)+len(s.Problems) == 0 {
		newLogger(newConsole(p), cfg.Log).Warn("no WebService is there: run and once take that for trouble, unless source.allowEmpty is set",
			"source", cfg.Source.Path)
	}
	if n := len(s.Problems); n > 0 {
		return &exitError{exitInvalid, errors.New(plural(n, "problem") + " in the files")}
	}
	return nil
}

func (p *Process) validateText(s *source.Snapshot) error {
	var errs []error
	line := func(text string) { errs = append(errs, p.printItem(text)) }
	for _, problem := range s.Problems {
		line(problem.Error())
	}
	for _, warning := range s.Warnings {
		line(warningLine(warning))
	}
	if len(s.Problems) == 0 {
		line("ok: " + plural(len(s.Objects), "WebService") + " in " + plural(s.Files, "file") + ", " +
			plural(len(s.Warnings), "warning") + ", " + plural(s.Skipped, "document") + " of other kinds")
	}
	return errors.Join(errs...)
}

// warningLine marks a warning as compilers do: after the place.
func warningLine(w source.Problem) string {
	w.Message = "warning: " + w.Message
	return w.Error()
}

// checked is what validate prints as JSON.
type checked struct {
	Objects  []checkedObject  `json:"objects"`
	Problems []report.Problem `json:"problems"`
	Warnings []report.Problem `json:"warnings"`
}

type checkedObject struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
}

func (p *Process) validateJSON(s *source.Snapshot) error {
	out := checked{Objects: []checkedObject{}, Problems: engine.Problems(s.Problems), Warnings: engine.Problems(s.Warnings)}
	for _, key := range s.Keys() {
		o := s.Objects[key]
		out.Objects = append(out.Objects, checkedObject{
			Namespace: key.Namespace, Name: key.Name, Source: o.File + ":" + strconv.Itoa(o.Line),
		})
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(p.Stdout, term.JSON(text.String()))
	return err
}
