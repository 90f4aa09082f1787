package mobile

// AddExample queues one example: its features as little-endian float64, laid out as
// [Node.TaskJSON] says, and its label: a number, 1 or 0 for two classes, the number of
// the class from 0 for several. Values outside the task's ranges are clamped. It
// is written within a second; the event "stored" says so, and [Node.Flush] waits for
// it. A full queue or a full node is [CodeFull], and the example is not taken.
func (n *Node) AddExample(featuresLE []byte, label float64) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// AddExampleJSON is AddExample with the values by column, the target among them, as
// text or numbers: {"outside": 3.5, "day": "work", "power": 1.2}.
func (n *Node) AddExampleJSON(rowJSON string) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// AddExamples stores examples, all or none, and returns when they are on disk: rows of
// features and label, one after the other. It takes as long as the disk does.
func (n *Node) AddExamples(rowsLE []byte) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// ImportCSV stores the examples of a CSV file with a header, all or none, and returns
// the daemon's report as JSON. skipBad leaves bad lines out. It takes as long as
// reading and writing do.
func (n *Node) ImportCSV(path string, skipBad bool) (reportJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// Flush waits until every queued example is on disk, as long as that takes.
func (n *Node) Flush() (err error) {
	defer guard(&err)
	return errNotBuilt
}

// ExamplesJSON lists examples by number, with their content, from a number on (they
// start at 1) and at most count. It reads all examples: call it in the background.
func (n *Node) ExamplesJSON(from, count int) (listJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// DeleteExamples erases the content of examples, given by their numbers as a JSON
// list, all or none. What was released with them stays public. It takes as long as
// the disk does.
func (n *Node) DeleteExamples(numbersJSON string) (err error) {
	defer guard(&err)
	return errNotBuilt
}
