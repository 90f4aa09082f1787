import Foundation
import Network

/// Finds phones with this app on the same Wi-Fi, and is found by them. The node's own search needs
/// multicast, which iOS gives to few apps; Bonjour is the system's, and asks the user once.
final class Bonjour {
    /// As in Info.plist. The addresses are in the TXT record, under a0, a1, ...
    static let service = "_p2pactivity._tcp"

    private let queue = DispatchQueue(label: "bonjour")
    private var browser: NWBrowser?
    private var listener: NWListener?

    /// Calls `found` with the addresses of others, on a queue of its own.
    func browse(_ found: @escaping @Sendable (String) -> Void) {
        self.browser?.cancel()
        let browser = NWBrowser(for: .bonjourWithTXTRecord(type: Bonjour.service, domain: nil), using: .tcp)
        browser.browseResultsChangedHandler = { results, _ in
            for result in results {
                if case .bonjour(let record) = result.metadata {
                    record.dictionary.values.forEach(found)
                }
            }
        }
        browser.start(queue: queue)
        self.browser = browser
    }

    /// Announces the node's addresses. Nobody calls this listener: the node has a port of its own.
    func announce(_ addresses: [String]) {
        listener?.cancel()
        listener = nil
        let local = addresses.filter { !$0.hasPrefix("/ip4/127.") && !$0.hasPrefix("/ip6/::1/") && $0.utf8.count < 250 }.prefix(4)
        guard !local.isEmpty, let listener = try? NWListener(using: .tcp) else { return }
        var record = NWTXTRecord()
        for (i, address) in local.enumerated() { record["a" + String(i)] = address }
        // A name of its own each time: the default is the phone's.
        listener.service = NWListener.Service(name: UUID().uuidString, type: Bonjour.service, txtRecord: record)
        listener.newConnectionHandler = { $0.cancel() }
        listener.start(queue: queue)
        self.listener = listener
    }

    func stop() {
        browser?.cancel()
        listener?.cancel()
        browser = nil
        listener = nil
    }
}
