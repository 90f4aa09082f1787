import CoreMotion

/// Cuts the accelerometer into windows. Its queue owns the samples.
final class Motion: @unchecked Sendable {
    private let manager = CMMotionManager()
    private let queue = OperationQueue()
    private var x: [Double] = [], y: [Double] = [], z: [Double] = []

    init() { queue.maxConcurrentOperationCount = 1 }

    var isAvailable: Bool { manager.isAccelerometerAvailable }

    /// Calls `window` with the features of each window, on a queue of its own.
    func start(_ window: @escaping @Sendable ([Double]) -> Void) {
        manager.accelerometerUpdateInterval = 1 / Double(WindowFeatures.hertz)
        manager.startAccelerometerUpdates(to: queue) { [weak self] data, _ in
            guard let self = self, let a = data?.acceleration else { return }
            // In units of g, and with the opposite sign of Android's, which the task is written for.
            self.x.append(-9.81 * a.x)
            self.y.append(-9.81 * a.y)
            self.z.append(-9.81 * a.z)
            if self.x.count == WindowFeatures.samples {
                window(WindowFeatures.of(self.x, self.y, self.z))
                self.clear()
            }
        }
    }

    func stop() {
        manager.stopAccelerometerUpdates()
        queue.addOperation { [weak self] in self?.clear() }
    }

    private func clear() {
        x.removeAll(keepingCapacity: true)
        y.removeAll(keepingCapacity: true)
        z.removeAll(keepingCapacity: true)
    }
}
