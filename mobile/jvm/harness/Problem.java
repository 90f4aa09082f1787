package harness;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;

/**
 * A made-up thing to learn: features are a point of the unit sphere. The label is a
 * linear function of it with a little noise, or the class whose centre it lies around.
 */
final class Problem {
    final int width;
    final int classes; // 0: a number
    private final double[][] weights; // one row, or one for each class
    private final Random random;

    Problem(int width, int classes, long seed) {
        this.width = width;
        this.classes = classes;
        random = new Random(7); // the same truth for everybody
        weights = new double[Math.max(1, classes)][];
        for (int k = 0; k < weights.length; k++) {
            weights[k] = direction();
        }
        random.setSeed(seed);
    }

    /** One example: the features, then the label. */
    double[] example() {
        double[] x = direction();
        double label = 0;
        if (classes == 0) {
            for (int i = 0; i < width; i++) {
                label += 3 * weights[0][i] * x[i];
            }
            label += 0.05 * random.nextGaussian();
        } else {
            int k = random.nextInt(classes);
            for (int i = 0; i < width; i++) {
                x[i] = weights[k][i] + 0.8 * x[i];
            }
            scale(x);
            label = k;
        }
        double[] row = java.util.Arrays.copyOf(x, width + 1);
        row[width] = label;
        return row;
    }

    /** That many examples, one after the other. */
    double[] examples(int count) {
        double[] rows = new double[count * (width + 1)];
        for (int i = 0; i < count; i++) {
            System.arraycopy(example(), 0, rows, i * (width + 1), width + 1);
        }
        return rows;
    }

    private double[] direction() {
        double[] x = new double[width];
        for (int i = 0; i < width; i++) {
            x[i] = random.nextGaussian();
        }
        return scale(x);
    }

    private static double[] scale(double[] x) {
        double square = 0;
        for (double v : x) {
            square += v * v;
        }
        for (int i = 0; i < x.length; i++) {
            x[i] /= Math.sqrt(square);
        }
        return x;
    }

    /** The first count numbers as the bindings take them. */
    static byte[] bytes(double[] values, int count) {
        ByteBuffer b = ByteBuffer.allocate(8 * count).order(ByteOrder.LITTLE_ENDIAN);
        b.asDoubleBuffer().put(values, 0, count);
        return b.array();
    }

    static byte[] bytes(double... values) {
        return bytes(values, values.length);
    }

    static double[] numbers(byte[] littleEndian) {
        double[] values = new double[littleEndian.length / 8];
        ByteBuffer.wrap(littleEndian).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(values);
        return values;
    }

    /** The features as JSON by column, and the label if it is asked for. */
    String json(double[] row, boolean label) {
        StringBuilder s = new StringBuilder("{");
        for (int i = 0; i < width; i++) {
            s.append(i == 0 ? "" : ",").append("\"x").append(i).append("\":").append(row[i]);
        }
        if (label) {
            s.append(",\"y\":").append(classes == 0 ? String.valueOf(row[width]) : "\"c" + (int) row[width] + "\"");
        }
        return s.append("}").toString();
    }

    /** The text of a task file. */
    String task() {
        StringBuilder s = new StringBuilder();
        s.append("name = \"made up\"\nlearner = \"personal\"\n");
        s.append("loss = \"").append(classes == 0 ? "squared" : "multinomial").append("\"\n");
        s.append("normalise = true\nconstant = 0.0\nmu = 5.0\nlambda = 0.1\nclip = 1.0\n");
        s.append("confidence_at = 100\nradius = 10.0\ncohort_size = 100000\n");
        for (int i = 0; i < width; i++) {
            s.append("[[features]]\nname = \"x").append(i).append("\"\nkind = \"number\"\nmin = -1.0\nmax = 1.0\n");
        }
        s.append("[target]\nname = \"y\"\n");
        if (classes == 0) {
            s.append("min = -4.0\nmax = 4.0\ncenter = 0.0\n");
        } else {
            s.append("classes = [");
            for (int k = 0; k < classes; k++) {
                s.append(k == 0 ? "" : ", ").append("\"c").append(k).append("\"");
            }
            s.append("]\n");
        }
        s.append("[graph]\nrule = \"random\"\ndegree = 10\n");
        s.append("[local]\neta = 1.0\neta_constant = 0.1\nkappa = 2.0\n");
        s.append("[release]\nepsilon = 1.0\ndelta = 1e-6\nreleases = 20\n");
        s.append("max_epsilon = 1000.0\nmax_delta = 1e-3\nmax_releases = 1000\nwake_seconds = 60.0\nmin_wake = 0.05\n");
        return s.toString();
    }
}
