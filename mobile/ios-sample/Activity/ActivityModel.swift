import SwiftUI
import UIKit

/// What the screen shows, and what its buttons do. Whatever may take long runs on another thread.
@MainActor
final class ActivityModel: ObservableObject {
    /// Peers to start from, as /ip4/.../tcp/.../p2p/ID: at least one that the app's maker runs.
    static let bootstrap: [String] = []

    @Published private(set) var state = NodeState()
    @Published private(set) var classes: [String] = []
    /// The number of an activity. A phone that locks itself would end the recording.
    @Published private(set) var recording: Int? {
        didSet { UIApplication.shared.isIdleTimerDisabled = recording != nil }
    }
    @Published private(set) var recorded = 0 // windows, since recording began
    @Published private(set) var guess = ""
    /// The user has read what leaves this phone, and wants to take part.
    @Published private(set) var hasAgreed = UserDefaults.standard.bool(forKey: "agreed") {
        didSet { UserDefaults.standard.set(hasAgreed, forKey: "agreed") }
    }
    @Published var problem: String?

    let motion = Motion()
    private var learner: Learner?
    private var opening: Task<Void, Never>?
    private var surroundings: Surroundings?
    private let bonjour = Bonjour()
    private var announced: [String] = []
    private var isOnScreen = false
    private var unsettled = 0 // windows to leave out

    /// Opens the learner, once.
    func open() async {
        if opening == nil {
            opening = Task { await openNow() }
        }
        await opening?.value
    }

    private func openNow() async {
        let happened: @Sendable (String, String) -> Void = { [weak self] kind, json in
            Task { @MainActor in self?.happened(kind, json) }
        }
        do {
            try Directory.prepare()
            let file = Bundle.main.url(forResource: "activity", withExtension: "toml")!
            let task = try String(contentsOf: file, encoding: .utf8)
            let options = LearnerOptions(directory: Directory.url, task: task, bootstrap: Self.bootstrap)
            let learner = try await away { try Learner(options, onEvent: happened) }
            classes = try decode(TaskShape.self, learner.task()).target.classes
            self.learner = learner
            surroundings = Surroundings(learner)
            refresh()
        } catch {
            opening = nil
            report(error)
        }
    }

    // MARK: The app comes and goes

    func agree() async {
        hasAgreed = true
        await appeared()
    }

    func appeared() async {
        isOnScreen = true
        guard hasAgreed else { return }
        await open()
        guard isOnScreen else { return }
        attempt { try takePart() }
        motion.start { [weak self] features in
            Task { @MainActor in self?.felt(features) }
        }
    }

    /// Bonjour finds peers while the app is on the screen.
    private func takePart() throws {
        try learner?.start()
        try learner?.resume()
        if let learner = learner {
            bonjour.browse { address in try? learner.addPeer(address) }
        }
    }

    func disappeared() {
        isOnScreen = false
        recording = nil
        motion.stop()
        bonjour.stop()
        announced = []
        guard let learner = learner else { return }
        Background.schedule()
        ProcessInfo.processInfo.performExpiringActivity(withReason: "Leaving the network") { expired in
            if !expired { try? learner.pause("in the background") }
        }
    }

    func pause(_ reason: String) async {
        guard let learner = learner else { return }
        try? await away { try learner.pause(reason) }
    }

    /// One slice of work; false if it was none.
    func train(seconds: Double) async -> Bool {
        guard hasAgreed else { return false }
        await open()
        guard let learner = learner, let surroundings = surroundings else { return false }
        return (try? await away {
            surroundings.awaitNetwork()
            return try learner.train(seconds: seconds)
        }) != nil
    }

    // MARK: Examples

    func record(_ activity: Int?) {
        recording = activity
        recorded = 0
        unsettled = 2 // five seconds to put the phone away
    }

    private func felt(_ features: [Double]) {
        guard let learner = learner else { return }
        attempt {
            if recording != nil, unsettled > 0 {
                unsettled -= 1
            } else if let activity = recording {
                try learner.addExample(features, label: activity)
                recorded += 1
            }
            let likeliest = try learner.predict(features)
            guess = classes.indices.contains(likeliest) ? classes[likeliest] : ""
        }
        if problem != nil { recording = nil }
    }

    // MARK: Others

    func addPeer(_ address: String) {
        attempt { try learner?.addPeer(address.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    /// Also where the directory cannot be opened: it is damaged, an old copy, or half erased.
    func leaveAndErase() async {
        let learner = self.learner, directory = Directory.url
        record(nil)
        bonjour.stop()
        do {
            try await away {
                if let learner = learner { try learner.leaveAndErase() } else { try Learner.erase(directory) }
            }
            motion.stop()
            self.learner = nil
            opening = nil
            surroundings = nil
            announced = []
            state = NodeState()
            guess = ""
            hasAgreed = false
        } catch {
            report(error)
        }
    }

    // MARK: State

    private func happened(_ kind: String, _ json: String) {
        if kind == "peer" || kind == "error", let notice = try? decode(Notice.self, json), notice.connected != true {
            NSLog("p2pnode: %@", notice.message ?? notice.reason ?? kind)
        }
        refresh()
    }

    func refresh() {
        guard let learner = learner else { return }
        attempt {
            state = try decode(NodeState.self, learner.status())
            // The app came back before it had left.
            if isOnScreen, state.state == "paused" { try learner.resume() }
        }
        if let addresses = state.node?.addrs, isOnScreen, addresses != announced {
            announced = addresses
            bonjour.announce(addresses)
        }
    }

    private func attempt(_ work: () throws -> Void) {
        do { try work() } catch { report(error) }
    }

    private func report(_ error: Error) {
        let error = LearnerError(error)
        problem = error.isFull ? "This phone keeps no more examples." : error.message
    }

    /// Runs what may take seconds on a thread that may wait.
    private func away<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { done in
            DispatchQueue.global(qos: .utility).async { done.resume(with: Result(catching: work)) }
        }
    }
}
