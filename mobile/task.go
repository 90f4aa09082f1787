package mobile

import (
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// taskText is the description of a task in [Node.TaskJSON].
type taskText struct {
	Name    string       `json:"name"`
	Network string       `json:"network"`
	Loss    string       `json:"loss"`
	Columns []columnText `json:"columns"`
	Length  int          `json:"length"`
	Target  targetText   `json:"target"`
}

type columnText struct {
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`
	Min    *float64  `json:"min,omitempty"`
	Max    *float64  `json:"max,omitempty"`
	Values []string  `json:"values,omitempty"`
	Edges  []float64 `json:"edges,omitempty"`
	Bends  []float64 `json:"bends,omitempty"`
	Log    bool      `json:"log,omitempty"`
	Parts  []string  `json:"parts,omitempty"`
	At     int       `json:"at"`
	Length int       `json:"length"`
}

type targetText struct {
	Name    string   `json:"name"`
	Classes []string `json:"classes,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Log     bool     `json:"log,omitempty"`
}

func describeTask(t *learner.Task) taskText {
	text := taskText{
		Name: t.Name, Network: datadir.NetworkName(t), Loss: t.Loss, Length: t.VectorLength(),
		Target: targetText{Name: t.Target.Name, Classes: t.Target.Classes, Log: t.Target.Log},
	}
	at := 0
	for i := range t.Features {
		f := &t.Features[i]
		c := columnText{Name: f.Name, Kind: f.Kind, Values: f.Values, Edges: f.Edges, Bends: f.Bends, Log: f.Log, Parts: f.Parts, At: at, Length: f.Inputs()}
		if f.Kind == "number" {
			c.Min, c.Max = &f.Min, &f.Max
		}
		text.Columns = append(text.Columns, c)
		at += c.Length
	}
	if !t.Classifies() {
		text.Target.Min, text.Target.Max = &t.Target.Min, &t.Target.Max
	}
	return text
}
