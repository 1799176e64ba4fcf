package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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
			v, err := readVerifier(cmd.InOrStdin())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	})
	c.AddCommand(userAddCommand())
	return c
}

func userAddCommand() *cobra.Command {
	var config string
	var may []string
	c := &cobra.Command{
		Use:   "add NAME --config policy.yaml",
		Short: "Read a password from standard input and add the analyst to the policy file",
		Long: `Read a password (one line) from standard input and add the analyst, with its SCRAM-SHA-256 verifier, to the policy's analysts:
the rest of the file stays byte for byte as it is. A running server takes it over with dpsql reload:

  printf '%s\n' 'correct horse battery staple' | dpsql user add ann --may encounters,patients.gender --config policy.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := readVerifier(cmd.InOrStdin())
			if err != nil {
				return err
			}
			text, err := os.ReadFile(config)
			if err != nil {
				return err
			}
			added, err := policy.AddAnalyst(config, text, policy.NewAnalyst{Name: args[0], Verifier: v, May: may})
			if err != nil {
				return err
			}
			if err := replace(config, added); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "added %s to %s; a running server takes it over with dpsql reload\n", args[0], config)
			return err
		},
	}
	configFlag(c, &config)
	c.Flags().StringSliceVar(&may, "may", nil, "tables and table.columns that the analyst may see (default: nothing)")
	return c
}

// readVerifier makes a verifier of the password on the first line.
func readVerifier(from io.Reader) (string, error) {
	in := bufio.NewScanner(from)
	if !in.Scan() {
		return "", errors.Join(errors.New("no password on standard input"), in.Err())
	}
	password := strings.TrimSuffix(in.Text(), "\r")
	if password == "" {
		return "", errors.New("the password is empty")
	}
	return policy.MakeVerifier(password)
}

// keepOwner gives a file the owner and group of another: a policy that root edits stays readable for the server.
func keepOwner(f *os.File, as os.FileInfo) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	want, ok := as.Sys().(*syscall.Stat_t)
	have, ok2 := mine.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}

// replace writes a file anew beside it and puts it in its place, with its owner and mode: a crash leaves the old or the new one.
func replace(path string, text []byte) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".dpsql-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := keepOwner(f, info); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
