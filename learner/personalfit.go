package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// PersonalFit is [FitPersonal] in pieces, for who cannot wait for all of it: it can
// be left between two steps and has a model at any time. The zero value is of no
// use; it is not safe for concurrent use.
type PersonalFit struct {
	task       *Task
	span       *span   // the space of the fits; nil: all models
	fitter     *fitter // nil: nothing to train on
	prior      []float64
	kappas     []float64   // whose fits are still to be made; the first are under way
	octave     int         // of the next fit
	theta      []float64   // where the last fit ended
	candidates []candidate // so far
	alone      []float64   // the mean of those with kappa = 0
}

// NewPersonalFit prepares what [FitPersonal] does with the same arguments, which must
// not be changed before the last step.
func NewPersonalFit(t *Task, records []Record, prior []float64) *PersonalFit {
	f := &PersonalFit{task: t, prior: prior}
	train := trainingRecords(records)
	if len(train) == 0 {
		return f
	}
	if f.span = t.newSpan(train, prior); f.span != nil {
		train, f.prior = f.span.inside(train), f.span.model(prior)
	}
	f.begin(train)
	return f
}

// begin wants records to train on, in coordinates in which the penalty is the task's.
func (f *PersonalFit) begin(train []Record) {
	f.fitter = newFitter(f.task.loss(), train)
	f.kappas = []float64{0}
	if floats.Norm(f.prior, 2) > 0 {
		kappa := f.task.Local.Kappa
		if f.task.Local.Fixed {
			f.kappas = append(f.kappas, kappa)
		} else {
			f.kappas = append(f.kappas, kappa/2, kappa, 2*kappa)
		}
	}
	f.octave = f.task.widest()
}

// Step does a piece of the work, one fit, and reports whether more is left.
func (f *PersonalFit) Step() bool {
	if len(f.kappas) == 0 {
		return false
	}
	f.candidates = append(f.candidates, f.fit(f.kappas[0]))
	if f.octave--; f.octave >= -f.task.widest() {
		return true
	}
	f.octave = f.task.widest()
	if f.alone == nil {
		f.alone = average(f.candidates)
		if f.task.Local.Fixed {
			f.candidates = nil
		}
	}
	f.kappas = f.kappas[1:]
	return len(f.kappas) > 0
}

// fit is the next fit, from where the one before ended or from the centre.
func (f *PersonalFit) fit(kappa float64) candidate {
	centre := floats.ScaleTo(make([]float64, len(f.prior)), kappa, f.prior)
	if f.octave == f.task.widest() { // strongest first: a short way from the centre
		f.theta = slices.Clone(centre)
	}
	weight := make([]float64, len(centre))
	f.task.pull(weight, math.Ldexp(1, f.octave))
	f.fitter.minimise(f.theta, weight, centre)
	// The task's own eta is the most plausible before a record is seen.
	surprise := float64(f.octave) * math.Ln2
	return candidate{
		theta:     slices.Clone(f.theta),
		logWeight: evidenceRate*f.fitter.loss.evidence(f.fitter.leaveOneOut(), f.fitter.y) - surprise*surprise,
	}
}

// Model is the best model so far; after the last step that of [FitPersonal]. Before
// the first it is that of a node without records.
func (f *PersonalFit) Model() PersonalModel {
	if len(f.candidates) == 0 && f.alone == nil {
		zero := make([]float64, len(f.prior))
		m := PersonalModel{Theta: floats.ScaleTo(slices.Clone(zero), f.task.Local.Kappa, f.prior), Alone: zero}
		return f.outside(m)
	}
	m := PersonalModel{Theta: f.alone, Alone: f.alone}
	if len(f.candidates) > 0 {
		m.Theta = average(f.candidates)
	}
	if f.alone == nil {
		m.Alone = m.Theta
	}
	return f.outside(m)
}

// outside is a model in the task's coordinates.
func (f *PersonalFit) outside(m PersonalModel) PersonalModel {
	if f.span == nil {
		return m
	}
	return PersonalModel{Theta: f.span.outside(m.Theta), Alone: f.span.outside(m.Alone)}
}

// widest is how many octaves of eta are tried on either side of the task's own.
func (t *Task) widest() int {
	if t.Local.Fixed {
		return 0
	}
	return 3
}
