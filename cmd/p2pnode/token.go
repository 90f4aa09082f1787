package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/local"
)

func tokenCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Say which programs may ask the node over a network",
		Long: `Say which programs may ask the node over a network, and what: at the address of
"p2pnode run --api". The socket of the data directory asks for no token. docs/api.md
has what can be asked.`,
	}
	c.AddCommand(tokenNewCommand(o), tokenListCommand(o), tokenRevokeCommand(o))
	return c
}

func tokenNewCommand(o *options) *cobra.Command {
	var scopes []string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a token, which is shown once",
		Long: `Make a token for a program, and show it: the node keeps its hash only. The scope
"read" lets it see how the node is doing, "data" also lets it handle records and
predictions, "admin" lets it do everything. The name is for you: a second token of
the same name is another one, and the first stays valid until you revoke it.`,
		Example: `  p2pnode token new prometheus
  p2pnode token new kitchen-sensor --scope data
  p2pnode token new backup --scope admin --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := api.TokenWish{Name: args[0]}
			for _, s := range scopes {
				w.Scopes = append(w.Scopes, api.Scope(s))
			}
			var list []api.Token
			made, err := askLocal(cmd, o, func(c *local.Connection, ctx context.Context) (made api.IssuedToken, err error) {
				if list, err = c.Tokens(ctx); err != nil {
					return made, err
				}
				return c.NewToken(ctx, w)
			})
			if err != nil {
				return err
			}
			return show(cmd, o, newToken(made, list), madeToken.String)
		},
	}
	c.Flags().StringSliceVar(&scopes, "scope", []string{string(api.Read)}, "what the program may do: read, data, admin, or some of them")
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"read", "data", "admin"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return c
}

// madeToken is a new token, and those that were there before and have its name.
type madeToken struct {
	api.IssuedToken
	Valid []string `json:"same_name"` // their IDs
}

func newToken(made api.IssuedToken, before []api.Token) madeToken {
	m := madeToken{made, []string{}}
	for _, b := range before {
		if b.Name == made.Name {
			m.Valid = append(m.Valid, b.ID)
		}
	}
	return m
}

// String implements [fmt.Stringer].
func (t madeToken) String() string {
	text := fmt.Sprintf("%s\nThis is the token %s, for %s. Keep it: it is not shown again.\n", t.Secret, t.ID, t.Name)
	for _, id := range t.Valid {
		text += fmt.Sprintf("Another token of this name stays valid: end it with p2pnode token revoke %s\n", id)
	}
	return text
}

func tokenListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Example: `  p2pnode token list
  p2pnode token list --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := askLocal(cmd, o, func(c *local.Connection, ctx context.Context) ([]api.Token, error) { return c.Tokens(ctx) })
			if err != nil {
				return err
			}
			return show(cmd, o, list, tokenTable)
		},
	}
}

func tokenTable(list []api.Token) string {
	if len(list) == 0 {
		return "There are no tokens. Make one with: p2pnode token new NAME\n"
	}
	rows := [][]any{{"ID", "NAME", "SCOPES", "MADE", "LAST USED", "ENDS"}}
	for _, t := range list {
		var scopes []string
		for _, s := range t.Scopes {
			scopes = append(scopes, string(s))
		}
		used, ends := t.Used, "never"
		if used == "" {
			used = "never"
		}
		if !t.Expires.IsZero() {
			ends = t.Expires.Format(time.DateOnly)
		}
		rows = append(rows, []any{t.ID, t.Name, strings.Join(scopes, ","), t.Created.Format(time.DateOnly), used, ends})
	}
	return table(rows...)
}

func tokenRevokeCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "End a token at once",
		Example: `  p2pnode token revoke 1f2e3d4c
  p2pnode token revoke 1f2e3d4c --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			revoked, err := askLocal(cmd, o, func(c *local.Connection, ctx context.Context) (revokedToken, error) {
				return revokedToken{args[0]}, c.RevokeToken(ctx, args[0])
			})
			if err != nil {
				return err
			}
			return show(cmd, o, revoked, func(t revokedToken) string {
				return fmt.Sprintf("The token %s is revoked: a program that shows it is refused from now on.\n", t.ID)
			})
		},
	}
}

// revokedToken is what "p2pnode token revoke --json" prints.
type revokedToken struct {
	ID string `json:"id"`
}

// askLocal is askOwner for requests about a directory instead of its node.
func askLocal[T any](cmd *cobra.Command, o *options, request func(*local.Connection, context.Context) (T, error)) (answer T, err error) {
	c, err := local.Connect(cmd.Context(), o.dir, newLog(cmd, o, slog.LevelWarn))
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return request(c, cmd.Context())
}
