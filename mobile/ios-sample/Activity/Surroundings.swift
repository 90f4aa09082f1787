import Network
import UIKit

/// Tells the learner what network there is and how the battery is. The learner decides.
final class Surroundings {
    private let learner: Learner
    private let monitor = NWPathMonitor()
    private var observers: [NSObjectProtocol] = []

    /// On the main thread.
    init(_ learner: Learner) {
        self.learner = learner
        monitor.pathUpdateHandler = { path in
            try? learner.setNetwork(Surroundings.network(of: path))
        }
        monitor.start(queue: DispatchQueue(label: "network"))
        UIDevice.current.isBatteryMonitoringEnabled = true
        for name in [UIDevice.batteryLevelDidChangeNotification, UIDevice.batteryStateDidChangeNotification,
                     Notification.Name.NSProcessInfoPowerStateDidChange] {
            observers.append(NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [weak self] _ in
                self?.tellPower()
            })
        }
        observers.append(NotificationCenter.default.addObserver(
            forName: UIApplication.didReceiveMemoryWarningNotification, object: nil, queue: OperationQueue()
        ) { _ in try? learner.trimMemory() })
        tellPower()
    }

    deinit {
        monitor.cancel()
        observers.forEach(NotificationCenter.default.removeObserver)
    }

    /// Mobile data, a personal hotspot and Low Data Mode count as metered.
    private static func network(of path: NWPath) -> NetworkCost {
        if path.status != .satisfied { return .offline }
        return path.isExpensive || path.isConstrained ? .metered : .unmetered
    }

    private func tellPower() {
        let device = UIDevice.current
        try? learner.setPower(
            percent: device.batteryLevel < 0 ? -1 : Int(device.batteryLevel * 100),
            charging: device.batteryState == .charging || device.batteryState == .full,
            saver: ProcessInfo.processInfo.isLowPowerModeEnabled)
    }
}
