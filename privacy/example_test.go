package privacy_test

import (
	"fmt"

	"p2pnode/privacy"
)

// The whole path of a release: ask, pay, draw.
func Example() {
	const dim, releases, clip = 2, 3, 1.0
	policy, err := privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: dim, Clip: clip, Releases: releases,
	}.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	account, err := privacy.NewAccount(policy)
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := privacy.NewSeededNoise(1) // a real node uses NewLiveNoise

	const cohort privacy.Cohort = 1
	for {
		mechanism, _ := policy.Next(account.Position())
		debits := account.Admit(mechanism, []privacy.Cohort{cohort})
		if len(debits) == 0 {
			break
		}
		// A real node makes the debit durable here, before anything else.
		if err := account.Apply(debits[0]); err != nil {
			fmt.Println(err)
			return
		}
		sum := mechanism.NewSum(cohort, dim)
		for range 100 {
			sum.Add([]float64{0.6, 0.8}) // one record's gradient
		}
		answer := noise.Answer(mechanism, []privacy.Sum{sum})
		fmt.Printf("%d slots, %d numbers, %.0f%% spent\n", answer.Slots, len(answer.Sum), 100*account.Spent(cohort))
	}
	// Output:
	// 100 slots, 2 numbers, 33% spent
	// 100 slots, 2 numbers, 67% spent
	// 100 slots, 2 numbers, 100% spent
}

func ExampleDesign_Policy_leastNoise() {
	design := privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Clip: 2, Releases: 16, Dimension: 30}
	policy, err := design.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := policy.Next(0)
	fmt.Printf("noise %.3f on the sum of gradients of norm at most %.3f; each release costs mu = %.4f\n", m.NoiseStd(), m.Clip(), m.Mu())
	// Output: noise 67.595 on the sum of gradients of norm at most 2.000; each release costs mu = 0.0592
}

func ExampleBudget_ForRecords() {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	for _, k := range []int{1, 2, 10} {
		fmt.Printf("%d records: epsilon %.2f\n", k, b.ForRecords(k).Epsilon)
	}
	// Output:
	// 1 records: epsilon 1.00
	// 2 records: epsilon 2.12
	// 10 records: epsilon 13.51
}

// A gradient that is too long, or not a number, cannot do more than one record
// may.
func ExampleSum_Add() {
	m, err := privacy.NewUnprotected(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := m.NewSum(1, 2)
	sum.Add([]float64{3e300, 4e300})
	answer := privacy.NewSeededNoise(1).Answer(m, []privacy.Sum{sum})
	fmt.Printf("%.6f\n", answer.Sum)
	// Output: [3.000000 4.000000]
}

// Laplace noise on a random half of the records, least at the end, as a plan: the
// terms hold the hash of the schedule, and no other release is admitted.
func ExampleDesign_Policy() {
	policy, err := privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: 2, Clip: 1, Releases: 3,
		Noise: privacy.Laplace, Accounting: privacy.CommittedPlan,
		Pace: privacy.Growing, Contraction: 0.8, Batch: 50, Slots: 100,
	}.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	account, err := privacy.NewAccount(policy)
	if err != nil {
		fmt.Println(err)
		return
	}
	for k := range policy.Schedule.Releases() {
		m, _ := policy.Next(k)
		fmt.Printf("step %d: noise %.2f, admitted now: %v\n", k+1, m.NoiseStd(), !account.Exhausted(1, m))
	}
	fmt.Println(policy.Terms.Plan == policy.Schedule.Hash())
	// Output:
	// step 1: noise 5.14, admitted now: true
	// step 2: noise 4.86, admitted now: false
	// step 3: noise 4.59, admitted now: false
	// true
}

// A learner that keeps its own past out of what it releases, noise on
// transmissions only: the sensitivity levels off.
func ExampleCarriedSensitivity() {
	const own, rate, bound = 0.4, 0.5, 1.0
	s := privacy.CarriedSensitivity{Keep: own, Step: 2 * rate * bound}
	for i := 1; i <= 4; i++ {
		fmt.Printf("%.3f ", s.At(i))
	}
	// Output: 1.000 1.400 1.560 1.624
}
