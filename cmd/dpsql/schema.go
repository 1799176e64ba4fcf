package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/policy"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of a policy, for editors",
		Long: `Print the JSON schema of a policy. An editor that knows it completes keys and marks misspelt ones:

  dpsql schema > policy.schema.json

and, as the first line of policy.yaml, for the YAML language server of most editors:

  # yaml-language-server: $schema=policy.schema.json

dpsql check finds more than a schema can say.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(policy.Schema())
		},
	}
}
