package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version = ""

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, as dpsql --version does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionText is the release's version, or the one that Go recorded for the module.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionLine is the version with the commit that was built, where Go recorded it, and Go's own version.
func versionLine() string {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		commit = commitOf(info.Settings)
	}
	return fmt.Sprintf("dpsql %s (%s%s %s/%s)", versionText(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// commitOf is the commit that Go recorded, with a comma behind it, or "".
func commitOf(settings []debug.BuildSetting) string {
	values := map[string]string{}
	for _, s := range settings {
		values[s.Key] = s.Value
	}
	commit := values["vcs.revision"]
	switch {
	case commit == "":
		return ""
	case values["vcs.modified"] == "true":
		commit = commit[:min(12, len(commit))] + " with changes"
	default:
		commit = commit[:min(12, len(commit))]
	}
	return "commit " + commit + ", "
}
