// Package testnet measures what learning together buys, on data sets of many
// people: each person becomes one node, and every node's personal model is
// measured on her own test records, beside the tuned model she would have
// learned alone.
//
// A [Dataset] comes from MovieLens ([ReadMovieLens], [Read100K]), from a CSV
// with a node column ([ReadCSV]) or from a synthetic problem ([Linear]). [Run]
// lets its people learn, each with a real node of package node or all under
// virtual time in package sim, and returns a [Result], which writes itself as a
// table, as JSON and as plots.
package testnet
