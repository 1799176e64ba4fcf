package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/engine/server"
	"github.com/dpsql/dpsql/internal/policy"
)

func userCommand() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "Prepare analysts' passwords for the policy"}
	iterations := policy.DefaultIterations
	hash := &cobra.Command{
		Use:   "hash",
		Short: "Read a password from standard input and print its SCRAM-SHA-256 verifier",
		Long: `Read a password (one line) from standard input, and print its SCRAM-SHA-256 verifier. That is what the
policy's analysts.NAME.password wants. The password itself is not stored:

  printf '%s\n' 'correct horse battery staple' | dpsql user hash`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := readVerifier(cmd.Context(), cmd.InOrStdin(), iterations)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	}
	hash.Flags().IntVar(&iterations, "iterations", iterations, "the verifier's iteration count: the policy's scram_iterations")
	c.AddCommand(hash)
	c.AddCommand(userAddCommand(), userRetireCommand())
	return c
}

func userAddCommand() *cobra.Command {
	var config string
	var may []string
	var same bool
	c := &cobra.Command{
		Use:   "add NAME --config policy.yaml",
		Short: "Read a password from standard input and add the analyst to the policy file",
		Long: `Read a password (one line) from standard input, and add the analyst with its SCRAM-SHA-256 verifier to
the policy. The rest of the file stays as it is. A running server needs dpsql reload:

  printf '%s\n' 'correct horse battery staple' |
    dpsql user add ann --may encounters,patients.gender --config policy.yaml

Names with spaces or dots stand in double quotes, as dpsql init writes them:

  dpsql user add ann --may '"Web Shop".Customers,"Employees List"' --config policy.yaml

Charges, stored answers and models belong to a name. dpsql refuses a name that has any, unless
--same-person says that it is the same person again. For another person choose another name, and
retire the old one with dpsql user retire.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(config)
			if err != nil {
				return err
			}
			iterations := policy.DefaultIterations
			if p, err := policy.ParseToEdit(config, text); err == nil { // else AddAnalyst says what is wrong
				iterations = p.ScramIterations
			}
			v, err := readVerifier(cmd.Context(), cmd.InOrStdin(), iterations)
			if err != nil {
				return err
			}
			if !same {
				if err := unusedName(cmd, config, args[0]); err != nil {
					return err
				}
			}
			added, err := policy.AddAnalyst(config, text, policy.NewAnalyst{Name: args[0], Verifier: v, May: splitNames(may)})
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
	c.Flags().BoolVar(&same, "same-person", false, "the name was used before by the same person, who gets its charges, stored answers and models again")
	c.Flags().StringArrayVar(&may, "may", nil, "tables and table.columns that the analyst may see, between commas (default: nothing)")
	return c
}

// splitNames splits lists at the commas that are not in a name's double quotes.
func splitNames(lists []string) (names []string) {
	quoted := false
	for _, l := range lists {
		names = append(names, strings.FieldsFunc(l, func(c rune) bool {
			quoted = quoted != (c == '"')
			return c == ',' && !quoted
		})...)
		quoted = false
	}
	return names
}

// unusedName refuses a name that has charges or models, which a new person would take over. Where nobody can be asked, it warns.
func unusedName(cmd *cobra.Command, config, name string) error {
	ctx := cmd.Context()
	p, err := policy.Places(config)
	if err != nil {
		return err
	}
	if _, there := p.Analyst(name); there {
		return nil // AddAnalyst says so
	}
	var has []string
	list, err := pastCharges(ctx, p)
	if i := slices.IndexFunc(list, func(s ledger.Spent) bool { return s.Analyst == name }); i >= 0 {
		has = append(has, "charges since "+list[i].At.UTC().Format(time.DateOnly)+" and the answers stored of them")
	}
	if err == nil {
		var own, granted int
		if own, granted, err = namedModels(ctx, p, name); own > 0 {
			has = append(has, fmt.Sprintf("models (%d)", own))
		}
		if granted > 0 {
			has = append(has, fmt.Sprintf("grants of models (%d)", granted))
		}
	}
	if err != nil {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dpsql: warning: whether %s was the name of somebody before could not be looked up, whose charges, stored answers and models it would have: %v\n", name, err)
	}
	if len(has) == 0 {
		return nil
	}
	return fmt.Errorf("the name %s was used before: it has %s, which whoever has the name gets too. For the same person, add it with --same-person. For another one, add another name, and retire this one:\n  dpsql user retire %s --config %s",
		name, strings.Join(has, ", "), name, config)
}

// pastCharges are the ledger's charges, the first of each analyst among them; none where nothing was served yet.
func pastCharges(ctx context.Context, p *policy.Policy) (list []ledger.Spent, err error) {
	l, err := openLedger(ctx, p)
	if errors.Is(err, errNothingServed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err = l.History(ctx)
	return list, errors.Join(err, l.Close())
}

// namedModels counts a name's models, and those granted to it.
func namedModels(ctx context.Context, p *policy.Policy, name string) (own, granted int, err error) {
	at := placeOf(p)
	if at.SQLite != "" {
		if _, err := os.Stat(at.SQLite + server.ModelsSuffix); errors.Is(err, fs.ErrNotExist) {
			return 0, 0, nil
		}
	}
	s, err := modelsAt(at, p.Dataset)
	if err != nil {
		return 0, 0, err
	}
	own, granted, err = s.Named(ctx, name)
	return own, granted, errors.Join(err, s.Close())
}

func userRetireCommand() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "retire NAME --config policy.yaml",
		Short: "Retire the name of an analyst who left",
		Long: `Put the name of an analyst who left into the policy's list retired. From then on check, serve and user
add refuse an analyst of that name. So nobody else gets its charges, stored answers and models. First
take the analyst out of the policy.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(config)
			if err != nil {
				return err
			}
			added, err := policy.Retire(config, text, args[0])
			if err != nil {
				return err
			}
			if err := replace(config, added); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is retired in %s\n", args[0], config)
			return err
		},
	}
	configFlag(c, &config)
	return c
}

// readVerifier makes a verifier of the password on the first line.
func readVerifier(ctx context.Context, from io.Reader, iterations int) (string, error) {
	read := firstLine
	if f, ok := from.(*os.File); ok && isTerminal(f) {
		read = func(io.Reader) (string, error) { return typed(ctx, f) }
	}
	password, err := read(from)
	if err != nil {
		return "", err
	}
	if password == "" {
		return "", errors.New("the password is empty")
	}
	return policy.MakeVerifier(password, iterations)
}

// firstLine is a password that is piped in.
func firstLine(from io.Reader) (string, error) {
	in := bufio.NewScanner(from)
	if !in.Scan() {
		return "", errors.Join(errors.New("no password on standard input"), in.Err())
	}
	return strings.TrimSuffix(in.Text(), "\r"), nil
}

// typed asks for a password on a terminal, which does not show it. The terminal echoes again afterwards, and after an interrupt.
func typed(ctx context.Context, terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return "", err
	}
	silent := *was
	silent.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &silent); err != nil {
		return "", err
	}
	_, _ = fmt.Fprint(os.Stderr, "Password: ")
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := firstLine(terminal)
		read <- line{text, err}
	}()
	var got line
	select {
	case got = <-read:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	_, _ = fmt.Fprintln(os.Stderr)
	return got.text, errors.Join(got.err, unix.IoctlSetTermios(fd, unix.TCSETS, was))
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
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return ledger.SyncDir(filepath.Dir(path)) // a user who was removed does not come back when the power fails
}
