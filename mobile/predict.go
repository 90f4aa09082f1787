package mobile

import (
	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
)

// Predict returns the personal model's answer for features laid out as [Node.TaskJSON]
// says: a number in the units of the target, the probability of 1 for two classes (1,
// -1 or 0 for the hinge loss), the number of the likeliest class for several. If the
// model does not know every stored example, and fitting takes no longer than a moment,
// it waits that moment for one that does, and then answers with what there is. With no
// example and no neighbour, and after NewNode and [Node.DeleteExamples] until the next fit
// has a first result, that is the task's centre, undecided, or the first class:
// [Node.PredictJSON] calls it a guess.
// An example that is queued is known when it is stored and a fit has ended since.
func (n *Node) Predict(featuresLE []byte) (y float64, err error) {
	return answer(n, func() (float64, error) {
		asked, err := n.features(featuresLE)
		if err != nil {
			return 0, coded(CodeInput, withoutValue(err))
		}
		t, f := n.node.Task(), n.model()
		return t.Predict(f.Theta, f.Extend(t, asked).X), nil
	})
}

// features encodes a vector of the app's.
func (n *Node) features(featuresLE []byte) (learner.Record, error) {
	raw, err := decodeVector(featuresLE)
	if err != nil {
		return learner.Record{}, err
	}
	return n.node.Task().EncodeVector(raw)
}

// model returns the newest personal model, one that knows every stored example if that
// is available in time.
func (n *Node) model() node.Fitted { return n.models.get(n.knows) }

// knows reports whether a model was fitted to every stored example.
func (n *Node) knows(f node.Fitted) bool {
	stored, _ := n.queue.lengths()
	return f.Current && f.Records == stored
}

// PredictJSON is Predict for values by column, and says more: {"value":…, "alone":…,
// "class":…, "alone_class":…, "probabilities":{…}, "cells":[…], "examples":…,
// "current":true}: alone is the model without neighbours; with classes each model names the
// likeliest and the value is its probability, and probabilities has that of each; cells counts those that were clamped, unknown or empty, for each column
// that has one; guess is true, and left out otherwise, if neither an example nor anything of
// others is behind the model; examples is how many the model knows; current, whether that is all, the
// queued ones included.
func (n *Node) PredictJSON(rowJSON string) (predictionJSON string, err error) {
	return n.json(func() (any, error) {
		row, err := parseRow(n.node.Task(), rowJSON)
		if err != nil {
			return nil, err
		}
		asked, err := n.node.Task().EncodeFeatures(row)
		if err != nil {
			return nil, coded(CodeInput, withoutValue(err))
		}
		f := n.model()
		_, queued := n.queue.lengths()
		return struct {
			api.Prediction
			Examples int  `json:"examples"`
			Current  bool `json:"current"`
		}{node.PredictionOf(n.node.Task(), &f, asked), f.Records, n.knows(f) && queued == 0}, nil
	})
}

// Probabilities returns the probability of each class, little-endian float64, in the
// order of the task's classes; for two classes that of 0 and that of 1. Other tasks,
// and the hinge loss, have none: [CodeInput].
func (n *Node) Probabilities(featuresLE []byte) (probabilitiesLE []byte, err error) {
	return answer(n, func() ([]byte, error) {
		t := n.node.Task()
		if !t.HasProbabilities() {
			return nil, wrongInput("the loss %q knows no probabilities; use predict", t.Loss)
		}
		asked, err := n.features(featuresLE)
		if err != nil {
			return nil, coded(CodeInput, withoutValue(err))
		}
		f := n.model()
		x := f.Extend(t, asked).X
		if q := t.Probabilities(f.Theta, x); q != nil {
			return encodeVector(q), nil
		}
		p := t.Predict(f.Theta, x)
		return encodeVector([]float64{1 - p, p}), nil
	})
}

// ExportModel returns the personal model's parameters, little-endian float64, in the
// coordinates of the task. Where the task makes private sums over keys, there are two more
// before the constant: the weights of how far above the average people put a key and of how
// popular it is, both 0 until a sum is known. Only the node knows what they are multiplied
// with, so a program that predicts with the other parameters alone predicts worse. The model
// is a function of the user's raw data: keep it on the device. It waits for a model that
// knows all examples, as long as writing and fitting take.
func (n *Node) ExportModel() (parametersLE []byte, err error) {
	return answer(n, func() ([]byte, error) {
		if err := n.queue.write(n.ctx); err != nil {
			return nil, err
		}
		m, err := n.node.Personal(n.ctx)
		if err != nil {
			return nil, err
		}
		return encodeVector(n.node.Task().Extended(m.Theta)), nil
	})
}
