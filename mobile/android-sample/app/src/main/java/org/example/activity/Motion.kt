package org.example.activity

import android.content.Context
import android.hardware.Sensor
import android.hardware.SensorEvent
import android.hardware.SensorEventListener
import android.hardware.SensorManager

/** Hands over the features of each window of the accelerometer, on the main thread. */
class Motion(context: Context, private val window: (DoubleArray) -> Unit) : SensorEventListener {
    private val manager = context.getSystemService(Context.SENSOR_SERVICE) as SensorManager
    private val sensor: Sensor? = manager.getDefaultSensor(Sensor.TYPE_ACCELEROMETER)
    private val windows = Windows()

    val isAvailable get() = sensor != null

    fun start() {
        sensor?.let { manager.registerListener(this, it, 1_000_000 / WindowFeatures.HERTZ) }
    }

    fun stop() = manager.unregisterListener(this)

    override fun onSensorChanged(event: SensorEvent) {
        val (x, y, z) = event.values
        windows.add(event.timestamp, x, y, z)?.let(window)
    }

    override fun onAccuracyChanged(sensor: Sensor?, accuracy: Int) {}
}
