import SwiftUI

struct ContentView: View {
    @ObservedObject var model: ActivityModel
    @State private var isErasing = false
    @State private var address = ""

    var body: some View {
        NavigationView {
            List {
                if !model.hasAgreed {
                    Section {
                        Text("This phone can learn from its accelerometer what you are doing, "
                            + "together with other phones and without showing them what it measured.")
                        NavigationLink("What leaves this phone") { PrivacyView() }
                        Button("Take part") { Task { await model.agree() } }
                    }
                } else {
                    now
                    record
                    together
                    others
                    Section {
                        NavigationLink("What leaves this phone") { PrivacyView() }
                        if FileManager.default.fileExists(atPath: Directory.lastCrash.path) {
                            ShareLink("Send the report of a crash", item: Directory.lastCrash)
                        }
                        Button("Leave and erase", role: .destructive) { isErasing = true }
                    }
                }
            }
            .navigationTitle("Activity")
        }
        .navigationViewStyle(.stack)
        .confirmationDialog("Leave and erase?", isPresented: $isErasing, titleVisibility: .visible) {
            Button("Erase everything", role: .destructive) { Task { await model.leaveAndErase() } }
        } message: {
            Text("Your examples, your model and your identity are erased from this phone. What was sent to others stays with them.")
        }
        .alert("That did not work", isPresented: hasProblem) {
            Button("OK") {}
        } message: {
            Text(model.problem ?? "")
        }
        .task {
            while !Task.isCancelled {
                model.refresh()
                try? await Task.sleep(nanoseconds: 5_000_000_000)
            }
        }
    }

    private var hasProblem: Binding<Bool> {
        Binding(get: { model.problem != nil }, set: { if !$0 { model.problem = nil } })
    }

    private var now: some View {
        Section("Now") {
            LabeledRow("You are", model.guess.isEmpty ? "–" : model.guess)
            if !model.motion.isAvailable { Text("This device has no accelerometer.") }
        }
    }

    private var record: some View {
        Section {
            ForEach(Array(model.classes.enumerated()), id: \.offset) { number, name in
                Button {
                    model.record(model.recording == number ? nil : number)
                } label: {
                    HStack {
                        Text(name.capitalized)
                        Spacer()
                        if model.recording == number { Text("recording, " + String(model.recorded)) }
                    }
                }
                .accessibilityHint("Records examples of this activity until you tap it again")
            }
        } header: {
            Text("Record examples")
        } footer: {
            Text("Tap what you are about to do, put the phone where you carry it, and do it for a minute. The first five seconds do not count. "
                + "Tap again to stop. The screen stays on meanwhile; locking the phone ends the recording.")
        }
    }

    private var together: some View {
        Section("What it is good for") {
            LabeledRow("Examples", String(model.state.node?.records ?? 0))
            if let c = model.state.node?.personal {
                LabeledRow("Right, with others", percent(1 - c.personal))
                LabeledRow("Right, alone", percent(1 - c.alone))
                Text("Of " + String(c.heldOut) + " examples that neither model was shown.").font(.footnote)
            } else {
                Text("Record more examples to see how often it is right.").font(.footnote)
            }
        }
    }

    private var others: some View {
        Section("Others") {
            LabeledRow("State", model.state.sentence)
            if let node = model.state.node {
                LabeledRow("Neighbours", String(node.neighbours) + ", " + String(node.listening) + " here now")
                LabeledRow("Privacy spent", percent(node.privacy.spent))
                LabeledRow("Models still to be sent", String(node.privacy.left))
                TextField("Add a phone by its address", text: $address)
                    .autocorrectionDisabled()
                    .textInputAutocapitalization(.never)
                    .onSubmit {
                        model.addPeer(address)
                        address = ""
                    }
                ForEach(node.addrs.prefix(2), id: \.self) { Text($0).font(.caption).textSelection(.enabled) }
            }
        }
    }

    private func percent(_ share: Double) -> String {
        String(Int((100 * share).rounded())) + " %"
    }
}

/// A name and what it is now, read out together.
struct LabeledRow: View {
    private let name, value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    var body: some View {
        HStack {
            Text(name)
            Spacer()
            Text(value).foregroundColor(.secondary)
        }
        .accessibilityElement(children: .combine)
    }
}
