import SwiftUI

/// The long text of docs/mobile.md, word by word.
struct PrivacyView: View {
    private let paragraphs: [(title: String, text: String)] = [
        ("What stays here.", """
            What the sensors measured, your examples, and the model that knows you best never leave this phone. They are in no \
            backup.
            """),
        ("What is sent.", """
            Now and then a model is sent to other phones. It is computed from your examples, and noise is added before it leaves. \
            Anybody who takes part can receive it and keep it. There is no server that sees more than they do.
            """),
        ("How much that protects.", """
            Each example has a budget, called epsilon. Suppose somebody thinks it equally likely that an example is among yours or is \
            not, and sees everything that this phone ever sends. With epsilon 1 she can become at most 73 percent sure; with 0.5, 62 \
            percent; with 3, 95 percent. When the budget is spent, the example is used on this phone only. Very rarely, less than once in \
            10,000 cases, she learns more. The promise is for one example: what shows in ten \
            of them, a habit for instance, is hardly protected by it.
            """),
        ("What others can see.", """
            That this phone takes part, when it is on, its internet address, and an identity, random but always the same until you \
            erase everything. How many examples it has and how they came in groups. With whom it exchanges models, and so roughly whose \
            models are like yours.
            """),
        ("What cannot be undone.", """
            What was sent stays with those who received it, also after you delete examples or erase everything. If you enter the same \
            examples again afterwards, they get a second budget, and both add up.
            """),
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
