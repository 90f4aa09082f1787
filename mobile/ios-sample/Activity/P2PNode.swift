import Foundation
import P2PNode

// Every call to the bindings is in this file. A Go test compares it with the header that
// gobind makes. What is checked there is what Swift makes of that header:
//
//   - a method whose result is BOOL or a nullable object throws;
//   - one whose result is a string does not: it takes a place for the error instead;
//   - so do functions, which Swift never makes throw;
//   - the protocol is P2PMobileListenerProtocol, as a class has its name.

/// What went wrong, with one of the codes of the bindings.
struct LearnerError: LocalizedError {
    let code: String
    let message: String

    var errorDescription: String? { message }

    /// The node's own error, or any other.
    init(_ error: Error?) {
        message = error?.localizedDescription ?? "failed: no reason was given"
        code = P2PMobileErrorCode(message)
    }

    /// There is no room for more examples.
    var isFull: Bool { code == P2PMobileCodeFull }
}

/// What a network costs.
enum NetworkCost {
    case offline, unmetered, metered

    fileprivate var kind: Int {
        switch self {
        case .offline: return Int(P2PMobileNetNone)
        case .unmetered: return Int(P2PMobileNetUnmetered)
        case .metered: return Int(P2PMobileNetMetered)
        }
    }
}

/// Where the learner lives and what it learns.
struct LearnerOptions {
    var directory: URL
    var task: String
    var settings = ""
    var bootstrap: [String] = []
    var allowMetered = false
}

/// The node. All methods may be called from any thread; those that say so take long.
final class Learner: @unchecked Sendable {
    private let node: P2PMobileNode

    /// Opens the directory, which can take a second or two. `onEvent` gets the kind of an event and
    /// its JSON, on a thread of the node's.
    init(_ options: LearnerOptions, onEvent: @escaping (String, String) -> Void) throws {
        guard let config: P2PMobileConfig = P2PMobileNewConfig(options.directory.path, options.task) else {
            throw LearnerError(nil)
        }
        config.settings = options.settings
        config.allowMetered = options.allowMetered
        config.logLevel = Int(P2PMobileLogWarn)
        for peer in options.bootstrap {
            try config.addBootstrap(peer)
        }
        var error: NSError?
        guard let opened: P2PMobileNode = P2PMobileNewNode(config, Listener(onEvent), &error) else {
            throw LearnerError(error)
        }
        node = opened
    }

    /// Of the bindings.
    static var version: String { P2PMobileVersion() }

    /// Where the Go runtime writes what a crash of the process leaves.
    static func setCrashFile(_ file: URL) throws {
        var error: NSError?
        if !P2PMobileSetCrashFile(file.path, &error) { throw LearnerError(error) }
    }

    /// What the garbage collector should stay below, for all learners of the process.
    static func setMemoryLimit(megabytes: Int) throws {
        var error: NSError?
        if !P2PMobileSetMemoryLimit(megabytes, &error) { throw LearnerError(error) }
    }

    /// Erases a directory that cannot be opened.
    static func erase(_ directory: URL) throws {
        var error: NSError?
        if !P2PMobileErase(directory.path, &error) { throw LearnerError(error) }
    }

    // MARK: Life

    func start() throws { try node.start() }

    /// Up to ten seconds.
    func pause(_ reason: String) throws { try node.pause(reason) }

    func resume() throws { try node.resume() }

    /// One slice of work, as long as it says and about a second more, also while paused.
    func train(seconds: Double) throws -> String {
        try text { error in node.train(Int(seconds * 1000), error: error) }
    }

    /// Up to a second.
    func trimMemory() throws { try node.trimMemory() }

    /// Up to fifteen seconds. The learner is of no use afterwards.
    func leaveAndErase() throws { try node.leaveAndErase() }

    // MARK: Surroundings

    /// iOS names its interfaces and its resolver to everybody, so there is nothing to hand in.
    func setNetwork(_ network: NetworkCost) throws {
        try node.setNetwork(network.kind, interfacesJSON: "", dnsServersJSON: "")
    }

    /// `percent` is -1 where the level is not known.
    func setPower(percent: Int, charging: Bool, saver: Bool) throws {
        try node.setPower(percent, charging: charging, saver: saver)
    }

    /// A multiaddress that ends in /p2p/ and the peer's ID.
    func addPeer(_ address: String) throws { try node.addPeer(address) }

    // MARK: Examples and answers

    /// Queues an example; `label` is the number of its class.
    func addExample(_ features: [Double], label: Int) throws {
        try node.addExample(littleEndian(features), label: Double(label))
    }

    /// The number of the likeliest class.
    func predict(_ features: [Double]) throws -> Int {
        var y = 0.0
        try node.predict(littleEndian(features), y: &y)
        return Int(y)
    }

    // MARK: State, as JSON

    func status() throws -> String { try text { error in node.statusJSON(error) } }

    func task() throws -> String { try text { error in node.taskJSON(error) } }

    /// Calls a method whose result is a string, which Swift does not make throw.
    private func text(_ call: (NSErrorPointer) -> String) throws -> String {
        var error: NSError?
        let result = call(&error)
        if let error = error { throw LearnerError(error) }
        return result
    }
}

/// Gets the node's events. It holds no Learner, which would keep both alive for ever.
private final class Listener: NSObject, P2PMobileListenerProtocol {
    private let event: (String, String) -> Void

    init(_ event: @escaping (String, String) -> Void) { self.event = event }

    func onEvent(_ kind: String?, payloadJSON: String?) throws {
        event(kind ?? "", payloadJSON ?? "{}")
    }

    func onLog(_ level: Int, message: String?) throws {
        NSLog("p2pnode: %@", message ?? "")
    }
}

/// A vector as the bindings want it: little-endian, as every Apple device is.
private func littleEndian(_ values: [Double]) -> Data {
    values.withUnsafeBytes { Data($0) }
}
