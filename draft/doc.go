// Package draft proposes a task from a file of records: it looks at the columns in
// bounded memory, says what must be asked because it is to be public, and writes the
// task with a comment beside each key.
//
// A task is public, so nothing of a private file enters it in silence. What a column
// looks like decides whether it is there, of which kind it is and in which form: whether
// its logarithm is taken, which parts of a time, how long a vector is and whether letters of
// words are counted. No noise hides the records in these choices, which the task says. Its
// range and its values come from the owner, who may take or change the round ones that
// [Question.Suggested] offers. Only of a file that is public already are they taken from it.
//
// The functions are pure: rows in, values out.
package draft
