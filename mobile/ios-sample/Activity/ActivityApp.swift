import SwiftUI

@main
struct ActivityApp: App {
    @Environment(\.scenePhase) private var phase
    @StateObject private var model: ActivityModel

    init() {
        try? Directory.collectCrash()
        try? Learner.setMemoryLimit(megabytes: 64)
        let model = ActivityModel()
        _model = StateObject(wrappedValue: model)
        Background.register(model)
    }

    var body: some Scene {
        WindowGroup {
            ContentView(model: model)
        }
        .onChange(of: phase) { phase in
            switch phase {
            case .active: Task { await model.appeared() }
            case .background: model.disappeared()
            default: break
            }
        }
    }
}
