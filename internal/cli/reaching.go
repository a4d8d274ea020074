package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/reach"
)

func (s *session) logsCommand() *cobra.Command {
	options := reach.LogOptions{}
	follow := false
	c := &cobra.Command{
		Use:     "logs NAME",
		GroupID: groupLook,
		Short:   "Print the logs of the pods of a model",
		Long: "Print the logs of all pods that serve a model. With several pods, each line begins with the name of its pod.\n\n" +
			"With --follow it goes on until Ctrl-C, or until the model is deleted: pods that come later, by a rollout or by scaling, are\n" +
			"followed too, and so is a container that is started again. What happens to pods is told on standard error.",
		Example: "  kubectl aimodel logs llama -f --tail 20\n  kubectl aimodel logs llama --previous",
		Args:    oneName, ValidArgsFunction: s.completeNames,
		RunE: func(c *cobra.Command, args []string) error {
			if follow && options.Previous {
				return errors.New("the run before is over and cannot be followed: leave out --follow or --previous")
			}
			object, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			reader, err := s.Client()
			if err != nil {
				return err
			}
			client, err := s.Clientset()
			if err != nil {
				return err
			}
			if follow {
				follower := &reach.Follower{Client: client, Reader: reader, Out: s.Out,
					Told: func(format string, args ...any) { fmt.Fprintf(s.Err, format+"\n", args...) }}
				return follower.Run(c.Context(), object, options)
			}
			pods, err := reach.Pods(c.Context(), reader, object)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return &reach.NoPodsError{Object: object, Lack: "pods"}
			}
			return reach.Logs(c.Context(), client, pods, options, s.Out)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what the pods write from now on")
	c.Flags().BoolVarP(&options.Previous, "previous", "p", false, "the run before the one that runs now, to see why a server crashed")
	c.Flags().Int64Var(&options.Tail, "tail", -1, "`number` of lines of each pod, from the end; all by default")
	c.Flags().StringVarP(&options.Container, "container", "c", "", "`name` of the container; by default the server")
	return c
}

func (s *session) urlCommand() *cobra.Command {
	var forward bool
	var port uint16
	c := &cobra.Command{
		Use:     "url NAME",
		GroupID: groupAct,
		Short:   "Print the URL of a model, or open a local port that leads to it",
		Long: "Print the URL under which a model answers inside the cluster, or that of the server elsewhere.\n\n" +
			"With --port-forward, open a port on this machine that leads to one of its pods through the API server, print its URL, and keep\n" +
			"it open until Ctrl-C. When the pod goes, another one takes over under the same URL.",
		Example: "  kubectl aimodel url llama\n  kubectl aimodel url llama --port-forward --port 8000",
		Args:    oneName, ValidArgsFunction: s.completeNames,
		RunE: func(c *cobra.Command, args []string) error {
			if port != 0 && !forward {
				return errors.New("--port is the local port of --port-forward: add that")
			}
			object, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			address := urlOf(object)
			name := access.Short(access.KindOf(object), object.GetName())
			if address == "" {
				return fmt.Errorf("%s has no URL: `kubectl aimodel why %s` tells the reason", name, name)
			}
			if !forward {
				_, err := fmt.Fprintln(s.Out, address)
				return err
			}
			return s.forward(c, object, address, port)
		},
	}
	c.Flags().BoolVar(&forward, "port-forward", false, "open a local port that leads to a pod of the model")
	c.Flags().Uint16Var(&port, "port", 0, "local `port` for --port-forward; a free one by default")
	return c
}

func urlOf(object access.Object) string {
	switch o := object.(type) {
	case *aiv1.AIModel:
		return cmp.Or(o.Status.InferenceURL, o.Status.ModelEndpoint)
	case *aiv1.InferenceService:
		return o.Status.URL
	}
	return ""
}

func (s *session) forward(c *cobra.Command, object access.Object, address string, port uint16) error {
	if model, ok := object.(*aiv1.AIModel); ok && model.Spec.Image == "" {
		return fmt.Errorf("aim/%s is served at %s, so there is no pod to forward a port to", model.Name, address)
	}
	inside, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("read the URL %q: %w", address, err)
	}
	config, err := s.Config()
	if err != nil {
		return err
	}
	reader, err := s.Client()
	if err != nil {
		return err
	}
	client, err := s.Clientset()
	if err != nil {
		return err
	}
	told := false
	forwarder := &reach.Forwarder{
		Config: config, Pods: client, Reader: reader,
		Opened: func(port uint16, pod string) {
			if !told { // standard output is for scripts: one line, the URL
				fmt.Fprintf(s.Out, "http://127.0.0.1:%d%s\n", port, inside.Path)
				told = true
			}
			fmt.Fprintf(s.Err, "Port %d leads to pod %s. Ctrl-C ends it.\n", port, pod)
		},
		Lost: func(pod string) { s.warn("the way to pod %s is lost; looking for another one", pod) },
	}
	return forwarder.Run(c.Context(), object, port)
}
