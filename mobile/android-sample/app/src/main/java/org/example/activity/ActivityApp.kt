package org.example.activity

import android.app.Application
import android.os.Handler
import android.os.Looper
import android.util.Log
import java.io.File
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors

/** Holds the one learner of the process, which the screen and the worker share. */
class ActivityApp : Application() {
    /** What may take long runs here, in order; the worker has a thread of its own. */
    val work: ExecutorService = Executors.newSingleThreadExecutor()
    val main = Handler(Looper.getMainLooper())

    /** Called on the main thread after the node has said something; null while the app is not on the screen. */
    @Volatile
    var onEvent: (() -> Unit)? = null

    /** Never in a backup: a restored copy would be refused. */
    val directory get() = File(noBackupFilesDir, "p2pnode")

    private var learner: Learner? = null

    override fun onCreate() {
        super.onCreate()
        work.execute {
            quietly { P2PNode.setCrashFile(File(noBackupFilesDir, "crash.txt").path) }
            quietly { P2PNode.setMemoryLimit(96) }
        }
    }

    /** The user takes part: nothing is made, and nothing runs, before she has said so. */
    fun takesPart() = directory.exists()

    /** Opens the learner if need be, which can take a second or two: not on the main thread. */
    @Synchronized
    fun learner(): Learner = learner ?: Learner(this).also { learner = it }

    /** Tells the neighbours, and erases everything, also what cannot be opened; up to fifteen seconds. */
    @Synchronized
    fun leaveAndErase() {
        val leaving = learner
        if (leaving == null) {
            P2PNode.erase(directory.path)
        } else {
            leaving.node.leaveAndErase()
            leaving.close()
        }
        learner = null
        Background.cancel(this)
    }

    /** Leaves the network, and ends a slice of work that is under way. */
    fun pause(reason: String) = work.execute { opened()?.let { quietly { it.node.pause(reason) } } }

    @Synchronized
    private fun opened() = learner

    override fun onTrimMemory(level: Int) {
        super.onTrimMemory(level)
        work.execute { opened()?.let { quietly { it.node.trimMemory() } } }
    }
}

/** For calls whose failure changes nothing for the user. */
fun quietly(call: () -> Unit) {
    try {
        call()
    } catch (e: Exception) {
        Log.w("p2pnode", e.message ?: e.toString())
    }
}
