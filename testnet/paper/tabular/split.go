package tabular

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// owner is one node of a sheet with its rows as records, in the order of the file.
type owner struct {
	name    string
	records []learner.Record
}

// owners are the nodes of a sheet.
type owners struct {
	list       []owner
	leftOut    int // nodes with too few records
	unlabelled int // rows without a target
}

// people makes records of all rows and sorts them by node; at is the column of the
// nodes. Nodes with fewer records than [fewestRecords] are left out. Rows that cannot be
// read are the error, unless skipped, which is called with them, is not nil.
func (c *coding) people(at int, skipped func(*testnet.BadLines)) (*owners, error) {
	o := &owners{}
	t := c.task()
	cells, index := c.cells(t), map[string]int{}
	bad := testnet.BadLines{File: c.sheet.File}
	for k, row := range c.sheet.Rows {
		name := strings.TrimSpace(row[at])
		if name == "" {
			bad.Add(c.sheet.Lines[k], fmt.Errorf("column %q is empty: whose record is this?", c.sheet.Columns[at]))
			continue
		}
		if !c.labelled(row) {
			o.unlabelled++
			continue
		}
		var wrong error
		r, err := t.Encode(cells(k, &wrong))
		if err = cmp.Or(wrong, err); err != nil {
			bad.Add(c.sheet.Lines[k], err)
			continue
		}
		c.noted.Add(r.Cells)
		r.Cells = "" // the sheet keeps them
		i, known := index[name]
		if !known {
			i = len(o.list)
			index[name] = i
			o.list = append(o.list, owner{name: name})
		}
		o.list[i].records = append(o.list[i].records, r)
	}
	if err := bad.Refused(skipped); err != nil {
		return nil, err
	}
	all := len(o.list)
	o.list = slices.DeleteFunc(o.list, func(p owner) bool { return len(p.records) < fewestRecords })
	o.leftOut = all - len(o.list)
	if len(o.list) < fewestNodes {
		return nil, fmt.Errorf("tabular: %s has %d nodes with %d records or more (column %q, %d nodes in all): learning together needs %d; --node-column names another column",
			c.sheet.File, len(o.list), fewestRecords, c.sheet.Columns[at], all, fewestNodes)
	}
	return o, nil
}

// fewestNodes is how few nodes can learn together: on a smaller graph, each node's
// neighbours would be all others.
const fewestNodes = 3

// fewestRecords is one record for each fold.
const fewestRecords = folds

// shuffles separates these random streams from those of agents.
const shuffles = 1 << 62

// shuffled is a copy of a node's records in an order that the seed and the node's
// position fix.
func (o *owners) shuffled(i int, seed uint64) []learner.Record {
	records := slices.Clone(o.list[i].records)
	r := rand.New(rand.NewPCG(seed, shuffles+uint64(i)))
	r.Shuffle(len(records), func(a, b int) { records[a], records[b] = records[b], records[a] })
	return records
}

// share lets each node learn from the first tenths tenths of its shuffled records, and
// keeps the others for the test.
func (o *owners) share(tenths int, seed uint64) []node {
	nodes := make([]node, len(o.list))
	for i := range nodes {
		records := o.shuffled(i, seed)
		k := max(1, len(records)*tenths/10)
		nodes[i] = newNode(o.list[i].name, records[:k:k], records[k:])
	}
	return nodes
}

// fold keeps the k-th of folds parts of each node's shuffled records for the test.
func (o *owners) fold(k, folds int, seed uint64) []node {
	nodes := make([]node, len(o.list))
	for i := range nodes {
		var train, test []learner.Record
		for j, r := range o.shuffled(i, seed) {
			if j%folds == k {
				test = append(test, r)
			} else {
				train = append(train, r)
			}
		}
		nodes[i] = newNode(o.list[i].name, train, test)
	}
	return nodes
}

// meanRecords is the mean number of training records.
func meanRecords(nodes []node) float64 {
	var sum float64
	for i := range nodes {
		sum += float64(len(nodes[i].train))
	}
	return sum / float64(len(nodes))
}
