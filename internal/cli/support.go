package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/bundle"
)

func (s *session) supportBundleCommand() *cobra.Command {
	var all, noLogs bool
	var file string
	var tail int64
	c := &cobra.Command{
		Use:     "support-bundle",
		GroupID: groupOther,
		Short:   "Gather what somebody else needs to help, in one archive without secrets",
		Long: "Gather the models of a namespace, or of all, with everything that serves them, pods, events, logs, nodes and versions, and the\n" +
			"operator's own Deployment, events and logs, into one archive (tar.gz).\n\n" +
			"No Secret is read. Values that look secret, by their name or their form, are replaced by REDACTED in objects, events and logs.\n" +
			"Look through it before you hand it on. What you may not read is left out, and the archive says so.",
		Example: "  kubectl aimodel support-bundle -n team-a\n  kubectl aimodel support-bundle -A --file bundle.tar.gz",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			namespace, err := s.namespaceOr(all)
			if err != nil {
				return err
			}
			found := versions{Plugin: s.Version}
			if err := s.askVersions(c, &found); err != nil {
				s.warn("%s", sentenceOf(err))
			}
			reader, err := s.Client()
			if err != nil {
				return err
			}
			collector := &bundle.Collector{Reader: reader, Tail: tail, Versions: found, Operator: operatorLabels, Now: s.Now}
			if !noLogs {
				if collector.Logs, err = s.Clientset(); err != nil {
					return err
				}
			}
			return s.writeBundle(c, collector, namespace, file)
		},
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "gather the models of all namespaces")
	c.Flags().BoolVar(&noLogs, "no-logs", false, "leave the logs of pods out")
	c.Flags().StringVar(&file, "file", "", "`file` to write, which may not exist yet, or - for standard output; by default named by the time")
	c.Flags().Int64Var(&tail, "tail", 1000, "`number` of lines of each log, from the end")
	return c
}

func (s *session) writeBundle(c *cobra.Command, collector *bundle.Collector, namespace, name string) (err error) {
	out := s.Out
	if name == "" {
		name = "aimodel-support-" + s.Now().UTC().Format("20060102-150405") + ".tar.gz"
	}
	if name != "-" {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s exists already: name another one with --file", name)
		}
		if err != nil {
			return fmt.Errorf("write the archive: %w", err)
		}
		out = file
		defer func() {
			if closeErr := file.Close(); err == nil && closeErr != nil {
				err = fmt.Errorf("write the archive: %w", closeErr)
			}
		}()
	}
	summary, err := collector.Collect(c.Context(), out, namespace)
	if err != nil {
		if name != "-" {
			// Half an archive would only look like one.
			err = errors.Join(err, os.Remove(name))
		}
		return err
	}
	s.tellBundle(name, summary)
	return nil
}

func (s *session) tellBundle(name string, summary *bundle.Summary) {
	for _, missing := range summary.Missing {
		s.warn("left out: %s", missing)
	}
	told := s.Out
	if name == "-" {
		told = s.Err
	}
	fmt.Fprintf(told, "%s has %d models of %d namespaces and %d pods. Look through it before you hand it on.\n",
		name, summary.Models, summary.Namespaces, summary.Pods)
}
