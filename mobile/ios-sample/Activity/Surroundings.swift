import Network
import UIKit

/// Tells the learner what network there is and how the battery is. The learner decides.
final class Surroundings: @unchecked Sendable {
    private let learner: Learner
    private let monitor = NWPathMonitor()
    private let queue = DispatchQueue(label: "network")
    private let known = DispatchGroup()
    private var isKnown = false // the queue's
    private var observers: [NSObjectProtocol] = []

    @MainActor
    init(_ learner: Learner) {
        self.learner = learner
        known.enter()
        monitor.pathUpdateHandler = { [weak self] path in
            try? learner.setNetwork(Surroundings.network(of: path))
            guard let self = self, !self.isKnown else { return }
            self.isKnown = true
            self.known.leave()
        }
        monitor.start(queue: queue)
        UIDevice.current.isBatteryMonitoringEnabled = true
        for name in [UIDevice.batteryLevelDidChangeNotification, UIDevice.batteryStateDidChangeNotification,
                     Notification.Name.NSProcessInfoPowerStateDidChange] {
            observers.append(NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
                Task { @MainActor in self?.tellPower() }
            })
        }
        observers.append(NotificationCenter.default.addObserver(
            forName: UIApplication.didReceiveMemoryWarningNotification, object: nil, queue: OperationQueue()
        ) { _ in try? learner.trimMemory() })
        tellPower()
    }

    deinit {
        monitor.cancel()
        if !isKnown { known.leave() } // a group must not be freed while somebody is in it
        observers.forEach(NotificationCenter.default.removeObserver)
    }

    /// Waits until the learner knows of the network: a slice of work does not wait for it.
    func awaitNetwork() {
        _ = known.wait(timeout: .now() + 2)
    }

    /// Mobile data, a personal hotspot and Low Data Mode count as metered.
    private static func network(of path: NWPath) -> NetworkCost {
        if path.status != .satisfied { return .offline }
        return path.isExpensive || path.isConstrained ? .metered : .unmetered
    }

    @MainActor
    private func tellPower() {
        let device = UIDevice.current
        try? learner.setPower(
            percent: device.batteryLevel < 0 ? -1 : Int(device.batteryLevel * 100),
            charging: device.batteryState == .charging || device.batteryState == .full,
            saver: ProcessInfo.processInfo.isLowPowerModeEnabled)
    }
}
