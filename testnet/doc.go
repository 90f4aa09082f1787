// Package testnet measures how much learning together helps, on data sets of many
// people. Each person becomes one node, and every node's personal model is measured on
// that person's own test records, beside the tuned model that the person would have
// learned alone.
//
// A [Dataset] comes from MovieLens ([ReadMovieLens], [Read100K]), from a CSV with a
// node column ([ReadPeople]) or from a synthetic problem ([Linear]). [Run] lets its people
// learn, each with a real node of package node or all under virtual time in package
// sim, and returns a [Result], which writes itself as a table, as JSON and as plots.
package testnet
