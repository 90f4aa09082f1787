package node_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/datadir"
)

// A node in a Go program, from its directory to its end.
func Example() {
	base, err := os.MkdirTemp("", "p2pnode")
	check(err)
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "node") // keep it: its budget and its identity are in it

	// All nodes of a network have the same task, mostly from a file that datadir.ParseTask reads.
	task := (&learner.Task{
		Name:     "heating",
		Features: []learner.Feature{{Name: "outside", Kind: "number", Min: -20, Max: 40}},
		Target:   learner.Target{Name: "kwh", Min: 0, Max: 100},
	}).Complete(learner.Keys{"name": true, "features": true, "target": true}, learner.Expected{})
	check(task.Validate())

	config := datadir.DefaultConfig(task)
	config.Listen = []string{"/ip4/127.0.0.1/tcp/0"}
	config.MDNS, config.DHT = false, "off" // this one looks for nobody
	check(datadir.Init(dir, task, config)) // once

	n, err := node.Open(dir, slog.Default()) // each time
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- n.Run(ctx)
		stop() // or Addrs would wait for a Run that could not begin
	}()

	addrs, err := n.Addrs(ctx) // waits until Run takes part; others have one in their Bootstrap
	check(err)
	fmt.Println("it can be reached:", len(addrs) > 0)

	var records []learner.Record
	for _, row := range []map[string]string{{"outside": "-5", "kwh": "62"}, {"outside": "10", "kwh": "48"}} {
		r, err := task.Encode(func(name string) (string, bool) { cell, ok := row[name]; return cell, ok })
		check(err)
		records = append(records, r) // the node sets Seq and Cohort
	}
	check(n.Add(ctx, records))

	p, err := n.Predict(ctx, map[string]string{"outside": "4"})
	check(err)
	fmt.Printf("%.0f kWh\n", p.Value)

	stop()
	check(<-ended) // nil; node.ErrRolledBack, for example, if the directory is an old copy
	check(n.Close())
	// Output:
	// it can be reached: true
	// 54 kWh
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
