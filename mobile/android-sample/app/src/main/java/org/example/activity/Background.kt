package org.example.activity

import android.content.Context
import androidx.work.Constraints
import androidx.work.ExistingPeriodicWorkPolicy
import androidx.work.NetworkType
import androidx.work.PeriodicWorkRequest
import androidx.work.WorkManager
import androidx.work.Worker
import androidx.work.WorkerParameters
import java.util.concurrent.TimeUnit

/** A slice of learning now and then, while the app is not on the screen. */
class Background(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    private val app = context.applicationContext as ActivityApp

    override fun doWork(): Result = try {
        if (app.takesPart()) app.learner().node.train(SLICE)
        Result.success()
    } catch (e: Exception) {
        quietly { throw e }
        Result.failure() // this time; the next period comes all the same
    }

    override fun onStopped() {
        if (app.onEvent == null) app.pause(app.getString(R.string.needed_elsewhere))
    }

    companion object {
        private const val NAME = "learn"
        private const val SLICE = 180_000 // ms, as a release takes minutes; Android ends a worker after ten minutes

        /** Android chooses the time, about once an hour; the node's own conditions come on top. */
        fun schedule(context: Context) {
            val constraints = Constraints.Builder()
                .setRequiredNetworkType(NetworkType.UNMETERED)
                .setRequiresBatteryNotLow(true)
                .build()
            val request = PeriodicWorkRequest.Builder(Background::class.java, 1, TimeUnit.HOURS)
                .setConstraints(constraints)
                .build()
            WorkManager.getInstance(context).enqueueUniquePeriodicWork(NAME, ExistingPeriodicWorkPolicy.KEEP, request)
        }

        fun cancel(context: Context) {
            WorkManager.getInstance(context).cancelUniqueWork(NAME)
        }
    }
}
