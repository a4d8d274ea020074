// Package cli is the kubectl plugin: its commands, their flags, and what they print. What a command does is for the packages
// below this one; the operator uses none of them.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

// Exit codes, as kubectl diff has them.
const (
	exitOK        = 0
	exitDifferent = 1
	exitError     = 2
)

// Options are what the commands use of the process.
type Options struct {
	In       io.Reader
	Out, Err io.Writer
	// Version of the plugin.
	Version string
	// Now tells the time.
	Now func() time.Time
}

// session is what the commands share.
type session struct {
	Options
	access.Flags
	style output.Style
}

// exit ends the program with a code and without a word.
type exit struct{ code int }

func (e *exit) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Run runs the command that the arguments say, and returns the exit code.
func Run(ctx context.Context, args []string, options Options) int {
	command := New(options) //nolint:contextcheck // the commands get the context from the line below
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	var silent *exit
	switch {
	case err == nil, errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return exitOK
	case errors.As(err, &silent):
		return silent.code
	}
	fmt.Fprintf(options.Err, "error: %s\n", sentenceOf(err))
	return exitError
}

func sentenceOf(err error) string {
	return strings.TrimSpace(access.Explain(err).Error())
}

// New returns the command with all that it can do.
func New(options Options) *cobra.Command {
	s := &session{Options: options, style: output.StyleFor(options.Out)}
	s.UserAgent = "kubectl-aimodel/" + options.Version
	root := &cobra.Command{
		Use:   "kubectl-aimodel",
		Short: "Look after the AI models that aimodel-operator serves",
		Long: "Look after the AI models that aimodel-operator serves: see why one is not up, what the operator would apply for it, and how\n" +
			"all of them are.\n\n" +
			"An object is named by its name, or by its kind and name (aim/NAME, infsvc/NAME) where an AIModel and an InferenceService\n" +
			"of one name both run something. Besides the flags below, every flag of kubectl's that says how to reach a cluster is understood.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl aimodel"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(options.In)
	root.SetOut(options.Out)
	root.SetErr(options.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: see `%s --help`", err, c.CommandPath())
	})
	s.Bind(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "See how models are:"},
		&cobra.Group{ID: groupPlan, Title: "See what the operator does for them:"},
		&cobra.Group{ID: groupAct, Title: "Change or reach them:"},
		&cobra.Group{ID: groupOther, Title: "More:"},
	)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	s.addCommands(root)
	return root
}

// The groups of commands in the help.
const (
	groupLook  = "look"
	groupPlan  = "plan"
	groupAct   = "act"
	groupOther = "other"
)

func (s *session) addCommands(root *cobra.Command) {
	root.AddCommand(
		s.whyCommand(), s.statusCommand(), s.watchCommand(), s.logsCommand(),
		s.renderCommand(), s.diffCommand(), s.convertCommand(),
		s.scaleCommand(), s.pauseCommand(), s.resumeCommand(), s.urlCommand(),
		s.supportBundleCommand(), s.versionCommand(),
	)
}

// warn tells of something beside the result.
func (s *session) warn(format string, args ...any) {
	fmt.Fprintf(s.Err, "warning: "+format+"\n", args...)
}

// oneName wants exactly one object.
func oneName(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("name one AIModel or InferenceService: %s NAME", c.CommandPath())
}

// find reads the object that an argument names, in the namespace of the flags.
func (s *session) find(ctx context.Context, argument string) (access.Object, error) {
	reader, err := s.Client()
	if err != nil {
		return nil, err
	}
	namespace, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	return access.Find(ctx, reader, namespace, argument)
}

// namespaceOr is the namespace of the flags, or empty, for all namespaces, if all is asked for.
func (s *session) namespaceOr(all bool) (string, error) {
	namespace, err := s.Namespace()
	if all {
		namespace = ""
	}
	return namespace, err
}

// completeNames completes the name of an object. A cluster that does not answer completes nothing.
func (s *session) completeNames(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
	defer cancel()
	reader, err := s.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, err := s.Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := access.Names(ctx, reader, namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionTimeout is how long somebody who pressed Tab waits.
const completionTimeout = 3 * time.Second

// outputFlag declares -o.
func outputFlag(c *cobra.Command, format *string, allowed ...string) {
	usage := "`format` of the output: "
	for i, name := range allowed {
		switch {
		case i == 0:
			usage += name
		case i == len(allowed)-1:
			usage += " or " + name
		default:
			usage += ", " + name
		}
	}
	c.Flags().StringVarP(format, "output", "o", allowed[0], usage)
	// The flag was declared a line above.
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
	c.PreRunE = func(*cobra.Command, []string) error { return output.Check(*format, allowed...) }
}
