package org.example.activity;

/**
 * What the model sees of the accelerometer: 18 numbers of a window of 128 samples at 50 Hz,
 * about two and a half seconds, in the order of docs/tasks/activity.toml. Each is scaled by
 * public constants so that its range there is [0, 1] or [-1, 1]; the node clamps what lies
 * outside. Plain Java: it runs on any JVM.
 */
public final class WindowFeatures {
    public static final int SAMPLES = 128;
    public static final int HERTZ = 50;

    /** The columns of the task, in order. */
    public static final String[] NAMES = {
        "mean_x", "mean_y", "mean_z", // g: how the phone lies
        "dev_x", "dev_y", "dev_z", // standard deviations, on a logarithmic scale
        "dev", "lowest", "highest", "change", // of the length |a|
        "roughness", // change / deviation: how quick the motion is
        "skew", // hard steps make short peaks
        "crossings", // of the mean, a share of the samples
        "vertical", // share of the variance along gravity
        "cadence", // Hz / 4: the period after which the length repeats itself best
        "regular", "regular_twice", // its autocorrelation there, and after two periods
        "quarter", // its autocorrelation after a quarter of a second
    };

    private static final double GRAVITY = 9.81; // m/s^2
    private static final int SHORTEST = HERTZ / 4, LONGEST = HERTZ + 1; // periods looked for, in samples
    private static final double STILL = 0.02; // m/s^2; a deviation below it is the sensor's noise

    private WindowFeatures() {}

    /** The features of a window; x, y, z hold SAMPLES numbers in m/s^2, gravity included. */
    public static double[] of(double[] x, double[] y, double[] z) {
        double mx = mean(x), my = mean(y), mz = mean(z);
        double vx = variance(x, mx), vy = variance(y, my), vz = variance(z, mz);
        double[] length = new double[SAMPLES], up = new double[SAMPLES];
        double g = Math.sqrt(mx * mx + my * my + mz * mz);
        for (int i = 0; i < SAMPLES; i++) {
            length[i] = Math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i]);
            up[i] = g > 0 ? (x[i] * mx + y[i] * my + z[i] * mz) / g : 0;
        }
        double m = mean(length), dev = Math.sqrt(variance(length, m));
        double lowest = m, highest = m, cubes = 0, steps = 0;
        int crossings = 0;
        for (int i = 0; i < SAMPLES; i++) {
            lowest = Math.min(lowest, length[i]);
            highest = Math.max(highest, length[i]);
            cubes += Math.pow(length[i] - m, 3) / SAMPLES;
            if (i > 0) {
                steps += Math.pow(length[i] - length[i - 1], 2) / (SAMPLES - 1);
                if (length[i] > m != length[i - 1] > m) crossings++;
            }
        }
        int period = SHORTEST;
        for (int lag = SHORTEST; lag <= LONGEST; lag++)
            if (repeats(length, m, lag) > repeats(length, m, period)) period = lag;
        double all = vx + vy + vz, quiet = STILL * STILL;
        return new double[] {
            mx / GRAVITY, my / GRAVITY, mz / GRAVITY,
            scale(Math.sqrt(vx)), scale(Math.sqrt(vy)), scale(Math.sqrt(vz)),
            scale(dev), scale(m - lowest), scale(highest - m), scale(Math.sqrt(steps)),
            Math.sqrt(steps / (dev * dev + quiet)) / 2,
            cubes / Math.pow(dev + STILL, 3) / 3,
            crossings / (SAMPLES - 1.0),
            variance(up, mean(up)) / (all + quiet),
            HERTZ / (double) period / 4,
            repeats(length, m, period), repeats(length, m, 2 * period), repeats(length, m, SHORTEST),
        };
    }

    /** 0 for nothing, 1 for about 19 m/s^2. */
    private static double scale(double deviation) {
        return Math.log1p(deviation) / 3;
    }

    private static double mean(double[] v) {
        double sum = 0;
        for (double e : v) sum += e;
        return sum / v.length;
    }

    private static double variance(double[] v, double mean) {
        double sum = 0;
        for (double e : v) sum += (e - mean) * (e - mean);
        return sum / v.length;
    }

    /** The autocorrelation at a lag; the sensor's noise counts as motion that never repeats. */
    private static double repeats(double[] v, double mean, int lag) {
        double products = 0;
        for (int i = lag; i < v.length; i++) products += (v[i] - mean) * (v[i - lag] - mean);
        return products / (v.length - lag) / (variance(v, mean) + STILL * STILL);
    }
}
