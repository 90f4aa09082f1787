package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
	"p2pnode/node/local"
)

func configCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show, check and change the configuration of your node",
		Long: `Show, check and change the configuration of your node. It is the file config.toml
of the data directory; what the network agrees on is in task.toml, and not yours to
change.

Every key is also a variable of the environment: P2PNODE_ and its name in
capitals, as P2PNODE_KEEP_DAYS=30 or P2PNODE_LISTEN=ADDRESS,ADDRESS; an empty one
counts as not set. And every key can be given to one run: "p2pnode run --set
keep_days=30". What --set says counts most, then the environment, then config.toml,
then the default. P2PNODE_DIR names the data directory, unless --dir does.

Only config.toml says what your records are promised: the keys marked ! may stand
elsewhere only with the same value, because they hold for a record's whole life.
A node that runs takes the keys marked * up when it gets the signal SIGHUP; others
wait for its next start.

The keys:
` + keyList(),
		Example: `  p2pnode config show --effective
  p2pnode config set keep_days=30
  p2pnode config check`,
	}
	c.AddCommand(showConfigCommand(o), checkConfigCommand(o), setConfigCommand(o), profileCommand(o))
	return c
}

// keyList lists the keys with their meaning.
func keyList() string {
	var b strings.Builder
	for _, k := range datadir.Keys() {
		mark := " "
		switch {
		case k.Promised:
			mark = "!"
		case k.Live:
			mark = "*"
		}
		b.WriteString(paragraph(fmt.Sprintf("%s %-14s ", mark, k.Name), k.About))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// settings reads the arguments of --set and config set.
func settings(texts []string) (list []datadir.Setting, err error) {
	for _, text := range texts {
		s, err := datadir.ParseSetting(text, datadir.SetFlag)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func showConfigCommand(o *options) *cobra.Command {
	var effective bool
	c := &cobra.Command{
		Use:   "show [KEY]",
		Short: "Print the keys that were chosen, and where",
		Long: `Print the keys that config.toml or the environment says, and which of them. A key's
name prints its value alone.`,
		Example: `  p2pnode config show
  p2pnode config show --effective --json
  p2pnode config show keep_days`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := datadir.ShowConfig(o.dir, o.settings)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				at := slices.IndexFunc(list, func(v datadir.KeyValue) bool { return v.Key == args[0] })
				if at < 0 {
					_, err := datadir.ParseSetting(args[0]+"=", "")
					return usageError{err, cmd}
				}
				return show(cmd, o, list[at], func(v datadir.KeyValue) string { return v.Text + "\n" })
			}
			if !effective {
				list = slices.DeleteFunc(list, func(v datadir.KeyValue) bool { return v.From == datadir.DefaultOrigin })
			}
			return show(cmd, o, list, configTable)
		},
	}
	c.Flags().BoolVar(&effective, "effective", false, "print those that have their default, too")
	c.ValidArgsFunction = completeKeys("")
	return c
}

func configTable(list []datadir.KeyValue) string {
	rows := make([][]any, len(list))
	for i, v := range list {
		from := v.From
		if v.Line > 0 {
			from = fmt.Sprintf("%s, line %d", v.From, v.Line)
		}
		rows[i] = []any{v.Key, v.Text, from}
	}
	return table(rows...)
}

func checkConfigCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say all that is wrong or doubtful in the configuration",
		Long: `Say all that is wrong or doubtful in config.toml and the environment, at once: keys
that do not exist, values of the wrong type or out of range, variables that are
nearly spelled as a key's; and what may be meant, but probably is not.

The exit code is 1 if anything is wrong, and 0 for doubts.`,
		Example: `  p2pnode config check
  p2pnode config check --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wrong, doubtful, err := datadir.CheckConfig(o.dir, o.settings)
			if err != nil {
				return err
			}
			found := checkedConfig{Dir: o.dir, Errors: append([]datadir.Finding{}, wrong...), Doubts: slices.Concat([]datadir.Finding{}, doubtful, o.misspelled)}
			err = show(cmd, o, found, checkedConfig.String)
			if len(wrong) > 0 {
				err = errors.Join(err, exitCode(1))
			}
			return err
		},
	}
}

// checkedConfig is the result of config check.
type checkedConfig struct {
	Dir    string            `json:"dir"`
	Errors []datadir.Finding `json:"errors"`
	Doubts []datadir.Finding `json:"doubts"`
}

// String implements [fmt.Stringer].
func (c checkedConfig) String() string {
	text := findingList(c.Dir, c.Errors, c.Doubts)
	switch {
	case len(c.Errors) > 0:
		return text + "The node cannot start until the errors are mended.\n"
	case len(c.Doubts) > 0:
		return text + "The configuration can be used as it is.\n"
	}
	return "The configuration is sound.\n"
}

func setConfigCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "set KEY=VALUE...",
		Short: "Change keys in config.toml",
		Long: `Change keys in config.toml. Everything else in the file stays as it is, comments
too. Between the values of a list stand commas; an empty value empties a list or
a text. Nothing is written unless the file is sound afterwards, and keys that must
change together are changed together. What your records are promised changes only
while the node does not run, and only if its ledger allows it.`,
		Example: `  p2pnode config set keep_days=30
  p2pnode config set pace=growing contraction=0.9
  p2pnode config set listen=/ip4/0.0.0.0/tcp/4001,/ip6/::/tcp/4001 --json`,
		Args: takes(1, anyNumber),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := settings(args)
			if err != nil {
				return usageError{err, cmd}
			}
			return changeConfig(cmd, o, list)
		},
	}
	c.ValidArgsFunction = completeKeys("=")
	return c
}

// changeConfig changes the file and says what that means for a running node.
func changeConfig(cmd *cobra.Command, o *options, list []datadir.Setting) error {
	changes, err := datadir.SetKeys(o.dir, list)
	if err != nil {
		return err
	}
	changed := changedConfig{Changes: append([]datadir.KeyChange{}, changes...), Running: local.Running(cmd.Context(), o.dir)}
	for _, s := range o.settings {
		if slices.ContainsFunc(list, func(c datadir.Setting) bool { return c.Key == s.Key }) {
			changed.Hidden = append(changed.Hidden, s.From)
		}
	}
	return show(cmd, o, changed, changedConfig.String)
}

// changedConfig is the result of config set.
type changedConfig struct {
	Changes []datadir.KeyChange `json:"changes"`
	Running bool                `json:"running"`          // the node
	Hidden  []string            `json:"hidden,omitempty"` // variables that count more than what was changed
}

// String implements [fmt.Stringer].
func (c changedConfig) String() string {
	if len(c.Changes) == 0 {
		return "These keys have these values already.\n"
	}
	var b strings.Builder
	var later []string
	for _, k := range c.Changes {
		fmt.Fprintf(&b, "%s = %s (was %s)\n", k.Key, orNothing(k.After), orNothing(k.Before))
		if !k.Live {
			later = append(later, k.Key)
		}
	}
	if c.Running && len(later) < len(c.Changes) {
		b.WriteString("The node runs: send it SIGHUP, for example with systemctl reload, to take this up now.\n")
	}
	if c.Running && len(later) > 0 {
		b.WriteString(paragraph("", fmt.Sprintf("The node runs: restart it for %s.", strings.Join(later, ", "))))
	}
	if len(c.Hidden) > 0 {
		b.WriteString(paragraph("", "The environment counts more: take "+strings.Join(c.Hidden, ", ")+" out of it."))
	}
	return b.String()
}

// orNothing writes a value for a sentence, or "nothing".
func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

func profileCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "profile [NAME]",
		Short: "List the kinds of machines, or give keys the values that suit one",
		Long: `List the kinds of machines with the keys that suit them, or write the keys of one
into config.toml. Each can be changed afterwards; "p2pnode init --for NAME" begins
with one.`,
		Example: `  p2pnode config profile
  p2pnode config profile lowpower`,
		Args:      takes(0, 1),
		ValidArgs: profileNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return show(cmd, o, datadir.Profiles(), profileList)
			}
			p, err := datadir.ProfileNamed(args[0])
			if err != nil {
				return usageError{err, cmd}
			}
			return changeConfig(cmd, o, p.Keys)
		},
	}
}

func profileNames() (names []string) {
	for _, p := range datadir.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

func profileList(profiles []datadir.Profile) string {
	var b strings.Builder
	for _, p := range profiles {
		b.WriteString(paragraph(fmt.Sprintf("%-9s ", p.Name), p.About))
		for _, s := range p.Keys {
			fmt.Fprintf(&b, "%10s%s = %s\n", "", s.Key, s.Value)
		}
	}
	return b.String()
}
