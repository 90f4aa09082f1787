package org.example.activity;

/**
 * Cuts the accelerometer into windows. A sensor is as fast as it likes, and never quite even,
 * so the samples are read off the straight lines between what it says. Plain Java; not safe
 * for several threads.
 */
public final class Windows {
    private static final long STEP = 1_000_000_000L / WindowFeatures.HERTZ; // ns
    private static final long GAP = 10 * STEP; // a sensor that paused begins a new window

    private final double[][] window = new double[3][WindowFeatures.SAMPLES];
    private final double[] last = new double[3];
    private int filled;
    private long lastAt = Long.MIN_VALUE / 2, due; // ns; due is when the next sample is

    /** Takes what the sensor says, in m/s^2 at a time in ns; the features of a window that is full, else null. */
    public double[] add(long at, float x, float y, float z) {
        double[] now = {x, y, z};
        if (at <= lastAt || at - lastAt > GAP) {
            filled = 0;
            due = at;
            remember(at, now);
        }
        double[] features = null;
        while (due <= at) {
            double share = at == lastAt ? 1 : (due - lastAt) / (double) (at - lastAt);
            for (int k = 0; k < 3; k++) window[k][filled] = last[k] + share * (now[k] - last[k]);
            due += STEP;
            if (++filled == WindowFeatures.SAMPLES) {
                features = WindowFeatures.of(window[0], window[1], window[2]);
                filled = 0;
            }
        }
        remember(at, now);
        return features;
    }

    private void remember(long at, double[] now) {
        lastAt = at;
        System.arraycopy(now, 0, last, 0, 3);
    }
}
