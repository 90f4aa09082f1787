// Package population learns from private sums. Each recipe says which vector a device
// adds and what the opened sum tells about the population; package privacy derives how
// far one record moves the vector. It is numbers in, numbers out. Its results are
// computed from the sum and from public numbers only, so they are as private as the sum
// is, and everybody may know them.
//
// The recipes: [Votes], what people think of each thing; [Regression] and [Discriminant],
// where a personal model starts; [Moments], in which directions people differ; [Descent],
// where a model starts for any convex loss.
//
// In this package sd is the standard deviation of the noise in each coordinate of an
// opened sum, and 0 for a sum without noise.
package population
