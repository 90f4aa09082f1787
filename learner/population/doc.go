// Package population is what is learned from a private sum: each recipe says which
// vector a device adds, how far one record moves it is derived in package privacy, and
// what the opened sum tells of the population. It is numbers in, numbers out. What
// comes out is post-processing of the sum and of public numbers, so it is as private
// as the sum is, and everybody may know it.
//
// The recipes: [Votes], what people think of each thing; [Regression], where a personal
// model starts; [Moments], in which directions people differ; [Descent], where a model
// starts for any convex loss.
//
// sd is the standard deviation of the noise in each coordinate of an opened sum, 0 of a
// sum without noise.
package population
