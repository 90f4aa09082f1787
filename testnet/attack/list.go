package attack

// Scenarios lists all attacks.
func Scenarios() []Scenario {
	return append([]Scenario{
		calm(),
		providers(),
		silence(),
		halves(),
		crowd(),
		models(),
		control(),
		topics(),
		garbage(),
		exchanges(),
		answers(),
		unread(),
		edges(),
		heavy(),
		crumbs(),
		friends(),
		packets(),
		hellos(),
		multicast(),
		places(),
		circuits(),
		behind(),
		probes(),
		guesses(),
		dials(),
		eclipse(),
		passports(),
		listener(),
		lastround(),
		mutes(),
		outsiders(),
		sybils(),
	}, append(rounds(), lies()...)...)
}
