package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpsql/dpsql/internal/policy"
)

func userCommand() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Prepare analysts' passwords for the policy"}
	c.AddCommand(&cobra.Command{
		Use:   "hash",
		Short: "Read a password from standard input and print its SCRAM-SHA-256 verifier",
		Long: `Read a password (one line) from standard input and print the SCRAM-SHA-256 verifier that the policy's
analysts.<name>.password wants. The password itself is kept nowhere:

  printf '%s\n' 'correct horse battery staple' | dpsql user hash`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := bufio.NewScanner(cmd.InOrStdin())
			if !in.Scan() {
				return errors.Join(errors.New("no password on standard input"), in.Err())
			}
			password := strings.TrimSuffix(in.Text(), "\r")
			if password == "" {
				return errors.New("the password is empty")
			}
			v, err := policy.MakeVerifier(password)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	})
	return c
}
