import SwiftUI

/// The long text of docs/mobile.md.
struct PrivacyView: View {
    private let paragraphs: [(title: String, text: String)] = [
        ("What stays here",
         "What the sensor measured, your examples and the model that knows you best never leave this phone. They are in no backup."),
        ("What is sent",
         "Now and then a model is sent to other phones. It is computed from your examples, and noise is added before it leaves, "
            + "so that nobody can tell with confidence whether any one example was among them. Nobody collects: there is no server that sees more."),
        ("How much that protects",
         "Each example has a budget, written as epsilon. Suppose somebody holds it for equally likely that an example is among yours or not. "
            + "With epsilon 1, whatever she has seen, she can become at most 73 percent sure. The budget is for all that is ever sent; "
            + "when it is spent, the example is used on this phone only. There is a very small chance, delta, that the promise fails; "
            + "\"Privacy spent\" shows how much is used. Many examples of the same habit are protected less than one."),
        ("What others can see",
         "Those who take part see this phone's internet address and a random name, when it is there, that it takes part in this task, "
            + "how many models it has sent, and with whom it exchanges them."),
        ("What cannot be undone",
         "What was sent stays with those who have received it, also after you erase everything here. "
            + "If you enter the same examples again afterwards, they are protected by a new budget, and both add up."),
    ]

    var body: some View {
        List {
            ForEach(paragraphs, id: \.title) { paragraph in
                Section(paragraph.title) { Text(paragraph.text) }
            }
            Section { Text("p2pnode " + Learner.version).font(.footnote) }
        }
        .navigationTitle("What leaves this phone")
    }
}
