import BackgroundTasks

/// Learning while the app is not on the screen: iOS gives some minutes now and then, mostly at night
/// on the charger. Sockets do not survive a suspended app, so each time is one slice of work.
enum Background {
    /// As in Info.plist.
    static let identifier = "org.example.activity.learn"
    private static let slice = 180.0 // seconds

    /// Before the app has finished launching.
    static func register(_ model: ActivityModel) {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
            schedule()
            task.expirationHandler = {
                Task { await model.pause("iOS needs the time for something else") } // ends the slice
            }
            Task {
                let learned = await model.train(seconds: slice)
                task.setTaskCompleted(success: learned)
            }
        }
    }

    static func schedule() {
        let request = BGProcessingTaskRequest(identifier: identifier)
        request.requiresNetworkConnectivity = true
        request.requiresExternalPower = true
        try? BGTaskScheduler.shared.submit(request)
    }
}
