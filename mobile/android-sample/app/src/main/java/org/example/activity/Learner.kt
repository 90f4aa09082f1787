package org.example.activity

import android.util.Log
import org.json.JSONObject

/** The node, opened, with what tells it of the device. */
class Learner(private val app: ActivityApp) : P2PNode.Events {
    val node = P2PNode(app.directory.path, task(), BOOTSTRAP, this)

    /** The names of the activities; an example's label is the number of one. */
    val activities: List<String> = JSONObject(node.task()).getJSONObject("target").getJSONArray("classes").let { names ->
        List(names.length()) { names.getString(it) }
    }

    private val surroundings = Surroundings(app, node)

    fun close() = surroundings.close()

    private fun task() = app.assets.open("activity.toml").bufferedReader().use { it.readText() }

    override fun happened(kind: String, json: String) {
        if (kind == "error") Log.w("p2pnode", json)
        app.main.post { app.onEvent?.invoke() }
    }

    override fun logged(message: String) {
        Log.i("p2pnode", message)
    }

    private companion object {
        /** Peers to start from, as /ip4/.../tcp/.../p2p/ID: at least one that the app's maker runs. */
        val BOOTSTRAP = arrayOf<String>()
    }
}
