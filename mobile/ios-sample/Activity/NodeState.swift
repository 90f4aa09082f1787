import Foundation

/// What the app shows of StatusJSON.
struct NodeState: Decodable {
    var state = "off"
    var reason = ""
    var queued = 0
    var node: Details?

    struct Details: Decodable {
        let peer: String
        let addrs: [String]
        let records, heldOut, neighbours, listening, heard: Int
        let privacy: Privacy
        let personal: Comparison?
    }

    /// `spent` is a share of the budget of (epsilon, delta); `left` counts releases.
    struct Privacy: Decodable {
        let epsilon, delta, spent: Double
        let left: Int
    }

    /// Error rates on examples that both models were kept from.
    struct Comparison: Decodable {
        let personal, alone: Double
        let heldOut: Int
    }

    /// In words for the user.
    var sentence: String {
        switch state {
        case "running": return "Learning with others"
        case "starting": return "Connecting"
        case "waiting", "paused": return reason.isEmpty ? state : "Not now: " + reason
        case "failed": return "Not possible: " + reason
        default: return "Off"
        }
    }
}

/// What the app needs of TaskJSON.
struct TaskShape: Decodable {
    struct Target: Decodable { let classes: [String] }

    let length: Int
    let target: Target
}

/// What came of the peer, or went wrong: the events "peer" and "error".
struct Notice: Decodable {
    let id: String?
    let connected: Bool?
    let reason: String?
    let message: String?
}

func decode<T: Decodable>(_ type: T.Type, _ json: String) throws -> T {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(type, from: Data(json.utf8))
}
