import Foundation

/// The node's directory. A copy of it that is restored would spend the privacy budget a second
/// time, and is refused: so no backup may hold it.
enum Directory {
    static var url: URL {
        FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
            .appendingPathComponent("p2pnode", isDirectory: true)
    }

    // Beside the directory, which belongs to the node.
    static var crashFile: URL { url.deletingLastPathComponent().appendingPathComponent("p2pnode-crash.txt") }
    static var lastCrash: URL { url.deletingLastPathComponent().appendingPathComponent("p2pnode-crash-last.txt") }

    static func prepare() throws {
        // Background work may run while the phone is locked, once it was unlocked after a start.
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true,
            attributes: [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication])
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        var directory = url
        try directory.setResourceValues(values)
    }

    /// Puts what a crash has left aside, for the user to send, and makes room for the next.
    static func collectCrash() throws {
        let files = FileManager.default
        try files.createDirectory(at: crashFile.deletingLastPathComponent(), withIntermediateDirectories: true)
        if let size = try? crashFile.resourceValues(forKeys: [.fileSizeKey]).fileSize, size > 0 {
            try? files.removeItem(at: lastCrash)
            try files.moveItem(at: crashFile, to: lastCrash)
        }
        try Learner.setCrashFile(crashFile)
    }
}
