package mobile

// Predict returns the personal model's answer for features laid out as [Node.TaskJSON]
// says: a number in the units of the target, the probability of 1 for two classes (1,
// -1 or 0 for the hinge loss), the number of the likeliest class for several. If the
// model does not know the newest examples yet, it waits a moment for one that does,
// and then answers with what there is; with no example and no neighbour that is the
// task's centre, or undecided.
func (n *Node) Predict(featuresLE []byte) (y float64, err error) {
	defer guard(&err)
	return 0, errNotBuilt
}

// PredictJSON is Predict for values by column, and says more: {"value":…, "alone":…,
// "class":…, "alone_class":…, "examples":…, "current":true}: alone is the model without
// neighbours; examples is how many the model knows; current, whether that is all.
func (n *Node) PredictJSON(rowJSON string) (predictionJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}

// Probabilities returns the probability of each class, little-endian float64, in the
// order of the task's classes; for two classes that of 0 and that of 1. Other tasks
// have none: [CodeInput].
func (n *Node) Probabilities(featuresLE []byte) (probabilitiesLE []byte, err error) {
	defer guard(&err)
	return nil, errNotBuilt
}

// ExportModel returns the personal model's parameters, little-endian float64, in the
// coordinates of the task. It is a function of the user's raw data: keep it on the
// device. It waits for a model that knows all examples, as long as fitting takes.
func (n *Node) ExportModel() (parametersLE []byte, err error) {
	defer guard(&err)
	return nil, errNotBuilt
}
