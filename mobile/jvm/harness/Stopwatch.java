package harness;

import java.util.Arrays;

/** How long calls took. */
final class Stopwatch {
    private long[] nanos = new long[1024];
    private int count;

    /** Times one call. */
    void time(Check.Call call) throws Exception {
        long begin = System.nanoTime();
        call.run();
        long took = System.nanoTime() - begin;
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
        }
        nanos[count++] = took;
    }

    /** In microseconds. */
    private double quantile(double q) {
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        return sorted[(int) Math.ceil(q * (count - 1))] / 1e3;
    }

    void print(String what) {
        System.out.printf("%-44s %7d calls  median %9.1f  99 %% %9.1f  max %9.1f us%n",
                what, count, quantile(0.5), quantile(0.99), quantile(1));
    }
}
