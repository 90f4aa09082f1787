// Package tabular has the experiments on files of columns: "school", the exam
// scores of 139 schools, beside Liu, Hu, Wu, Smith, "On privacy and personalization
// in cross-silo federated learning" (NeurIPS 2022); and "csv", any user's own file.
// In both each node's records are rows of the file, and its models are measured on
// rows that no model was fitted to.
package tabular
