package org.example.activity;

/** Checks the features on signals whose features are known. It needs nothing but a JVM. */
public final class FeaturesTest {
    public static void main(String[] args) {
        atRest();
        bouncing();
        turned();
        dropped();
        uneven();
        paused();
    }

    /** A phone that lies on its back feels +g along z, and nothing repeats. */
    private static void atRest() {
        double[] f = WindowFeatures.of(constant(0), constant(0), constant(9.81));
        for (int i = 0; i < f.length; i++) {
            String name = WindowFeatures.NAMES[i];
            if (!name.equals("cadence")) near("at rest, " + name, f[i], name.equals("mean_z") ? 1 : 0);
        }
    }

    /** Two hertz along gravity, 3 m/s^2 to either side. */
    private static void bouncing() {
        double[] z = new double[WindowFeatures.SAMPLES];
        for (int i = 0; i < z.length; i++) z[i] = 9.81 + wave(i);
        double[] f = WindowFeatures.of(constant(0), constant(0), z);
        near("cadence", at(f, "cadence"), 2 / 4.0);
        near("vertical", at(f, "vertical"), 1);
        near("dev", at(f, "dev"), Math.log1p(3 / Math.sqrt(2)) / 3);
        near("dev_z", at(f, "dev_z"), at(f, "dev"));
        near("highest", at(f, "highest"), Math.log1p(3) / 3);
        near("regular", at(f, "regular"), 1);
        near("regular_twice", at(f, "regular_twice"), 1);
        near("quarter", at(f, "quarter"), -1);
        // A sine of amplitude 1 moves by 2 sin(pi f / rate) |cos| from sample to sample.
        near("roughness", at(f, "roughness"), Math.sin(Math.PI * 2 / WindowFeatures.HERTZ));
        near("skew", at(f, "skew"), 0);
        near("crossings", at(f, "crossings"), 10 / 127.0);
    }

    /** However the phone lies, what is not of one axis stays. */
    private static void turned() {
        int n = WindowFeatures.SAMPLES;
        double[] x = new double[n], y = new double[n], z = new double[n], u = new double[n], v = new double[n];
        double c = Math.cos(0.7), s = Math.sin(0.7);
        for (int i = 0; i < n; i++) {
            x[i] = wave(i / 2.0);
            y[i] = 0.3 * wave(i + 3);
            z[i] = 9.81 + wave(i);
            u[i] = c * x[i] - s * z[i];
            v[i] = s * x[i] + c * z[i];
        }
        double[] f = WindowFeatures.of(x, y, z), turned = WindowFeatures.of(u, y, v);
        for (int i = 6; i < f.length; i++) near("turned, " + WindowFeatures.NAMES[i], turned[i], f[i]);
        if (Math.abs(turned[0] - f[0]) < 0.5) throw new AssertionError("mean_x does not say that the phone was turned");
    }

    /** No force at all divides nothing by zero. */
    private static void dropped() {
        for (double f : WindowFeatures.of(constant(0), constant(0), constant(0)))
            if (Double.isNaN(f)) throw new AssertionError("a falling phone has a feature that is no number");
    }

    /** A sensor of 61 Hz that is never on time gives the windows of an even one of 50 Hz. */
    private static void uneven() {
        java.util.Random random = new java.util.Random(1);
        Windows windows = new Windows();
        double[] z = new double[WindowFeatures.SAMPLES];
        int full = 0;
        long at = 5_000_000_000L, begin = at;
        for (int i = 0; i < 600; i++, at += 1_000_000_000L / 61 + random.nextInt(4_000_000) - 2_000_000) {
            double[] f = windows.add(at, 0, 0, (float) (9.81 + wave((at - begin) / 2e7)));
            if (f == null) continue;
            for (int k = 0; k < z.length; k++) z[k] = 9.81 + wave(full * z.length + k);
            double[] want = WindowFeatures.of(constant(0), constant(0), z);
            for (int k = 0; k < f.length; k++) near("uneven, " + WindowFeatures.NAMES[k], f[k], want[k]);
            full++;
        }
        if (full != 3) throw new AssertionError(full + " windows in ten seconds, not 3");
    }

    /** No window is of both sides of a pause. */
    private static void paused() {
        Windows windows = new Windows();
        long at = 1, step = 20_000_000;
        for (int i = 0; i < 127; i++, at += step) never(windows.add(at, 0, 0, 1));
        at += 60_000_000_000L;
        for (int i = 0; i < 127; i++, at += step) never(windows.add(at, 0, 0, 2));
        double[] f = windows.add(at, 0, 0, 2);
        if (f == null) throw new AssertionError("no window after a pause");
        near("after a pause, mean_z", at(f, "mean_z"), 2 / 9.81);
        near("after a pause, dev_z", at(f, "dev_z"), 0);
    }

    private static void never(double[] features) {
        if (features != null) throw new AssertionError("a window before it is full");
    }

    private static double wave(double i) {
        return 3 * Math.sin(2 * Math.PI * 2 * i / WindowFeatures.HERTZ + 0.3);
    }

    private static double[] constant(double v) {
        double[] all = new double[WindowFeatures.SAMPLES];
        java.util.Arrays.fill(all, v);
        return all;
    }

    private static double at(double[] features, String name) {
        return features[java.util.Arrays.asList(WindowFeatures.NAMES).indexOf(name)];
    }

    /** A window holds no whole number of periods, hence the tolerance. */
    private static void near(String what, double got, double want) {
        if (!(Math.abs(got - want) < 0.03)) throw new AssertionError(what + " is " + got + ", not " + want);
    }
}
