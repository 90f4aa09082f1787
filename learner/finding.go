package learner

// LeastFall is the share of the log loss alone by which log losses must at least differ to
// count where classes are not told apart. Less is gained by knowing better how frequent
// they are, with nothing learned from the features.
const LeastFall = 0.01

// Finding is what the scores of two models on the same records show.
type Finding struct {
	Word        string    // [Better], [Worse] or [CannotTell]
	Gain        *Interval // as [Score.Gain]
	LogLossGain *Interval // as [Score.LogLossGain]
	// ByLogLoss says that Word is that of LogLossGain.
	ByLogLoss bool
}

// Against compares a model with another one, and with a constant, on the same records.
// The errors say which is better. Where a class is rare they cannot: a constant predicts
// classes as well as anything, and what is learned is how likely they are. Then the log
// losses say it, if they surely differ, and by a hundredth or more in the mean. A model
// is better by them only if it is better than the constant too.
func (s Score) Against(other, base Score) Finding {
	f := Finding{Word: CannotTell, Gain: s.Gain(other), LogLossGain: s.LogLossGain(other)}
	if f.Gain != nil {
		f.Word = f.Gain.Word()
	}
	if f.Word != CannotTell || f.LogLossGain == nil || s.Error < base.Error && !s.SameClasses(base) {
		return f
	}
	word, share := f.LogLossGain.Word(), f.LogLossGain.Mean/other.LogLoss
	if word == Better && share >= LeastFall && s.LogLoss < base.LogLoss || word == Worse && share <= -LeastFall {
		f.Word, f.ByLogLoss = word, true
	}
	return f
}
