package org.example.activity

import org.json.JSONObject

/** What the screen shows of the node's state. */
class NodeState(json: String) {
    private val whole = JSONObject(json)
    private val node = whole.optJSONObject("node") ?: JSONObject()
    private val privacy = node.optJSONObject("privacy") ?: JSONObject()
    private val personal: JSONObject? = node.optJSONObject("personal")

    val state: String = whole.optString("state")
    val reason: String = whole.optString("reason") // what it waits for, in words

    val examples = node.optInt("records") + whole.optInt("queued")
    val neighbours = node.optInt("neighbours")
    val listening = node.optInt("listening")
    val addresses = node.optJSONArray("addrs")?.let { list -> List(list.length()) { list.getString(it) } } ?: emptyList()

    val epsilon = privacy.optDouble("epsilon", 0.0)
    val spent = percent(privacy.optDouble("spent", 0.0))
    val left = privacy.optInt("left")

    /** On examples that neither model was shown; null before there are any. */
    val rightTogether = personal?.let { percent(1 - it.getDouble("personal")) }
    val rightAlone = personal?.let { percent(1 - it.getDouble("alone")) }
    val heldOut = personal?.optInt("held_out") ?: 0

    private fun percent(share: Double) = Math.round(100 * share).toInt()
}
