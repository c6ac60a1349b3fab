package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // the login methods that a kubeconfig may name
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// runKubectl is kubectl itself. Most failures end the process inside kubectl, with kubectl's exit codes.
func runKubectl(args []string) int {
	// Plugins, completion and command headers look at os.Args; they must see a plain kubectl.
	os.Args = append([]string{"kubectl"}, args...)
	if _, err := logs.GlogSetter(cmd.GetLogVerbosity(os.Args)); err != nil {
		util.CheckErr(err)
	}
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
		return exitFailed
	}
	return exitOK
}
