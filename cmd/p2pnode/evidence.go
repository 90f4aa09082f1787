package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/discovery/members"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func evidenceCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "evidence",
		Short: "Proofs that peers signed two different models for one round",
		Long: `Proofs that peers signed two different models for one round: each has told one
neighbour this and another one that. It lies, or its directory was copied and both copies
run. The node found out by itself or was shown the proof by a peer, takes nothing more of
such a peer, and passes the proof on.

A proof is the peer's own two signatures, so anybody can check it, no matter who sent it. In a
private network, write them to a file and give that to the keeper of the list:

  p2pnode peers evidence --json > evidence.json
  p2pnode members revoke --evidence evidence.json --key garden.key`,
		Example: `  p2pnode peers evidence
  p2pnode peers evidence --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, api.Owner.Evidence, evidenceText)
		},
	}
}

func evidenceText(list []api.Evidence) string {
	if len(list) == 0 {
		return "No peer is known to have signed two different models for one round.\n"
	}
	rows := [][]any{{"PEER", "ROUND", "KNOWN SINCE"}}
	for _, e := range list {
		rows = append(rows, []any{e.Author, e.Round, moment(e.Since)})
	}
	return table(rows...) + "\nEach signed two different models for that round. --json has the proofs.\n"
}

// maxEvidenceFile bounds a file of proofs, in bytes: many times what a node keeps.
const maxEvidenceFile = 4 << 20

// readEvidence reads the proofs in a file, one or a list of them, and checks each.
func readEvidence(cmd *cobra.Command, name string) ([]api.Evidence, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := openInput(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxEvidenceFile+1))
	if err == nil {
		var list []api.Evidence
		if list, err = parseEvidence(text); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}

func parseEvidence(text []byte) ([]api.Evidence, error) {
	if len(text) > maxEvidenceFile {
		return nil, fmt.Errorf("longer than %s", size(maxEvidenceFile))
	}
	var list []api.Evidence
	if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("{")) {
		list = make([]api.Evidence, 1)
		if err := json.Unmarshal(text, &list[0]); err != nil {
			return nil, fmt.Errorf("no proof as p2pnode peers evidence --json writes them: %w", err)
		}
	} else if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("no proofs as p2pnode peers evidence --json writes them: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no proof")
	}
	for _, e := range list {
		if err := node.CheckEvidence(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// convicted returns the proofs against members of the list, one for each.
func convicted(l *members.List, list []api.Evidence) (out []api.Evidence, err error) {
	seen := make(map[string]bool)
	for _, e := range list {
		if _, err := l.Find(e.Author); err != nil || seen[e.Author] {
			continue
		}
		seen[e.Author] = true
		out = append(out, e)
	}
	if len(list) > 0 && len(out) == 0 {
		return nil, fmt.Errorf("the proofs are good, but none is against a member of %s", l.Network)
	}
	return out, nil
}

// revoked says who was revoked, and why.
type revoked struct {
	edited
	Evidence []api.Evidence `json:"evidence,omitempty"`
	// Committee lists those of them that are in the committee of the directory's task.
	Committee []string `json:"committee,omitempty"`
}

// inCommittee returns which of the members are in the committee of a directory's task, if
// it has one.
func inCommittee(dir string, gone []members.Member) (in []string) {
	t, err := datadir.ReadTask(dir)
	if err != nil {
		return nil // nothing is known about a task
	}
	for _, m := range gone {
		if slices.Contains(t.Sums.Committee, m.Peer.String()) {
			in = append(in, m.Peer.String())
		}
	}
	return in
}

// String implements [fmt.Stringer].
func (r revoked) String() string {
	var out strings.Builder
	for _, e := range r.Evidence {
		fmt.Fprintf(&out, "%s signed two different models for round %d of the network %s.\n", e.Author, e.Round, e.Network)
	}
	for _, id := range r.Committee {
		out.WriteString(paragraph("", id+" is in the committee of the task, and stays in it: no private sum opens without it. "+
			"Write a new task with another committee, or let it in again."))
	}
	return out.String() + r.edited.String()
}
