package org.example.activity

import android.app.Activity
import android.app.AlertDialog
import android.os.Bundle
import android.view.View
import android.widget.Button
import android.widget.LinearLayout
import android.widget.TextView

/** The one screen: what the phone thinks, examples to record, and what learning together is worth. */
class MainActivity : Activity() {
    private val app get() = application as ActivityApp
    private val motion by lazy { Motion(this, ::felt) }
    private val nearby by lazy { Nearby(app) { address -> learner?.let { quietly { it.node.addPeer(address) } } } }
    private var learner: Learner? = null
    private var recording: Int? = null // the number of an activity
    private var recorded = 0 // windows, those left out too
    private var onScreen = false

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContentView(R.layout.main)
        button(R.id.begin).setOnClickListener { begin() }
        button(R.id.stop).setOnClickListener { record(null) }
        button(R.id.privacy).setOnClickListener { showPrivacy() }
        button(R.id.erase).setOnClickListener { askToErase() }
        text(R.id.note).text = getString(if (motion.isAvailable) R.string.how_to_record else R.string.no_sensor)
    }

    // The screen comes and goes.

    override fun onStart() {
        super.onStart()
        onScreen = true
        app.onEvent = ::refresh
        show(R.id.welcome, !app.takesPart())
        show(R.id.erase, app.takesPart())
        if (app.takesPart()) begin()
    }

    override fun onStop() {
        super.onStop()
        onScreen = false
        app.onEvent = null
        leaveScreen()
    }

    private fun leaveScreen() {
        record(null)
        motion.stop()
        nearby.stop()
        app.pause(getString(R.string.in_the_background))
    }

    private fun begin() {
        show(R.id.welcome, false)
        slowly({ app.learner().also { it.node.start(); it.node.resume() } }) { opened ->
            learner = opened
            Background.schedule(app)
            showActivities(opened.activities)
            show(R.id.everything, true)
            show(R.id.erase, true)
            if (!onScreen) return@slowly leaveScreen()
            motion.start()
            nearby.start()
            refresh()
        }
    }

    // Examples and predictions.

    private fun showActivities(names: List<String>) {
        val list = findViewById<LinearLayout>(R.id.activities)
        list.removeAllViews()
        names.forEachIndexed { number, name ->
            list.addView(Button(this).apply {
                text = name
                setOnClickListener { record(number) }
            })
        }
    }

    private fun record(activity: Int?) {
        recording = activity
        recorded = 0
        show(R.id.activities, activity == null) // a pocket presses buttons, too
        show(R.id.stop, activity != null)
        button(R.id.stop).text = activity?.let { getString(R.string.stop_recording, learner?.activities?.get(it)) } ?: ""
        window.decorView.keepScreenOn = activity != null // a dark screen may stop the sensor
    }

    /** A window of the accelerometer is full. */
    private fun felt(features: DoubleArray) {
        val node = learner?.node ?: return
        try {
            recording?.let { activity ->
                // In the first seconds the phone is put away.
                if (++recorded > LEFT_OUT) node.addExample(features, activity)
                if (recorded == LEFT_OUT + ENOUGH) record(null)
            }
            val guess = learner?.activities?.get(node.predict(features))
            if (text(R.id.guess).text != guess) text(R.id.guess).text = guess // a change is read out
        } catch (e: Exception) {
            record(null)
            report(e)
        }
    }

    // What the node is doing.

    private fun refresh() {
        val node = learner?.node ?: return
        val s = try {
            NodeState(node.status())
        } catch (e: Exception) {
            return report(e)
        }
        text(R.id.examples).text = getString(R.string.examples, s.examples)
        text(R.id.accuracy).text =
            if (s.rightTogether == null) getString(R.string.no_accuracy)
            else getString(R.string.accuracy, s.rightTogether, s.rightAlone, s.heldOut)
        text(R.id.state).text = when (s.state) {
            "running" -> getString(R.string.running)
            "starting" -> getString(R.string.starting)
            "failed" -> getString(R.string.failed, s.reason)
            "off" -> getString(R.string.off)
            else -> getString(R.string.not_now, s.reason)
        }
        text(R.id.neighbours).text = getString(R.string.neighbours, s.neighbours, s.listening)
        text(R.id.budget).text = getString(R.string.budget, s.spent, s.epsilon, s.left)
        if (onScreen) nearby.announce(s.addresses)
    }

    // Dialogs.

    private fun showPrivacy() {
        AlertDialog.Builder(this)
            .setTitle(R.string.privacy)
            .setMessage(getString(R.string.privacy_text) + "\n\np2pnode " + P2PNode.version())
            .setPositiveButton(android.R.string.ok, null)
            .show()
    }

    private fun askToErase() {
        AlertDialog.Builder(this)
            .setTitle(R.string.erase_question)
            .setMessage(R.string.erase_text)
            .setNegativeButton(android.R.string.cancel, null)
            .setPositiveButton(R.string.erase_all) { _, _ -> erase() }
            .show()
    }

    private fun erase() {
        record(null)
        motion.stop()
        nearby.stop()
        learner = null
        show(R.id.everything, false)
        slowly({ app.leaveAndErase() }) {
            show(R.id.welcome, true)
            show(R.id.erase, false)
        }
    }

    private fun report(e: Exception) {
        if (!onScreen) return
        val message = if (P2PNode.isFull(e)) getString(R.string.full) else e.message
        AlertDialog.Builder(this).setTitle(R.string.problem).setMessage(message).setPositiveButton(android.R.string.ok, null).show()
    }

    /** Does what may take long where it may, then the rest on the main thread. */
    private fun <T> slowly(long: () -> T, then: (T) -> Unit) {
        show(R.id.busy, true)
        app.work.execute {
            val result = runCatching(long)
            app.main.post {
                if (isDestroyed) return@post
                show(R.id.busy, false)
                result.onSuccess(then).onFailure { if (it is Exception) report(it) else throw it }
            }
        }
    }

    private fun show(id: Int, visible: Boolean) {
        findViewById<View>(id).visibility = if (visible) View.VISIBLE else View.GONE
    }

    private fun button(id: Int): Button = findViewById(id)

    private fun text(id: Int): TextView = findViewById(id)

    private companion object {
        const val LEFT_OUT = 2 // windows, five seconds
        const val ENOUGH = 24 // windows of one recording, about a minute
    }
}
