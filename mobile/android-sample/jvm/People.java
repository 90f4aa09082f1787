package org.example.activity;

import java.util.Locale;
import java.util.Random;

/**
 * Writes the windows of people who do not exist, as a CSV for testnet: the constants of
 * docs/tasks/activity.toml were chosen on them. Each belongs to one of three groups, by how
 * she moves and where she carries her phone. Every window is of a new occasion, with a speed,
 * a ground and a tilt of its own. Same seed, same file.
 *
 * <pre>
 * cd mobile/android-sample
 * javac -d /tmp/activity app/src/main/java/org/example/activity/WindowFeatures.java jvm/People.java
 * java -cp /tmp/activity org.example.activity.People 100 1 >people.csv    # people, seed
 * </pre>
 */
public final class People {
    static final String[] ACTIVITIES = {"still", "walking", "running", "stairs", "cycling"};
    /** Each group: how the phone lies (turns round x and z), what it feels, how fast steps are. */
    static final double[][] GROUPS = {
        {0.1, 0.2, 1.0, 1.0}, // upright in a pocket
        {1.4, 1.2, 0.6, 0.9}, // flat in a bag, which swings and dampens
        {0.5, 2.4, 1.5, 1.1}, // on the arm, of somebody brisk
    };

    public static void main(String[] args) {
        Locale.setDefault(Locale.ROOT);
        int people = Integer.parseInt(args[0]);
        Random seeds = new Random(Long.parseLong(args[1]));
        StringBuilder csv = new StringBuilder("node," + String.join(",", WindowFeatures.NAMES) + ",activity\n");
        for (int i = 0; i < people; i++) {
            Random random = new Random(seeds.nextLong());
            Person person = new Person(GROUPS[i % GROUPS.length], random);
            int windows = (int) (30 * Math.pow(10, random.nextDouble())); // 30 to 300: one to twelve minutes
            for (int k = 0; k < windows; k++) {
                int activity = person.chooses();
                csv.append(i + 1);
                for (double f : person.window(activity)) csv.append(String.format(",%.4f", f));
                csv.append(',').append(ACTIVITIES[activity]).append('\n');
            }
        }
        System.out.print(csv);
    }

    /** How one person moves. */
    static final class Person {
        private final Random random;
        private final double tiltX, tiltZ, strength, pace, sway, heel;
        private final double[] habits = new double[ACTIVITIES.length];

        Person(double[] group, Random random) {
            this.random = random;
            tiltX = around(group[0], 0.15);
            tiltZ = around(group[1], 0.15);
            strength = group[2] * Math.exp(around(0, 0.15));
            pace = group[3] * Math.exp(around(0, 0.05));
            sway = between(0.3, 0.8);
            heel = between(0.2, 0.5);
            double all = 0;
            for (int k = 0; k < habits.length; k++) all += habits[k] = Math.exp(around(0, 1));
            for (int k = 0; k < habits.length; k++) habits[k] /= all;
        }

        /** An activity, by her habits: most people do little of most. */
        int chooses() {
            double left = random.nextDouble();
            int activity = 0;
            while (activity < habits.length - 1 && left > habits[activity]) left -= habits[activity++];
            return activity;
        }

        /** The features of one window of an activity. */
        double[] window(int activity) {
            double frequency = 0, bounce = 0, rough = 0.03, side = sway;
            switch (ACTIVITIES[activity]) {
                case "still": rough = random.nextInt(4) == 0 ? between(0.1, 0.6) : 0.03; break; // a hand moves
                case "walking": frequency = 1.85; bounce = 2.2; rough = 0.5; break;
                case "running": frequency = 2.7; bounce = 7; rough = 1.5; break;
                case "stairs": frequency = 1.65; bounce = 2.4; rough = 0.9; side *= 1.4; break;
                default: frequency = 1.25; bounce = 0.8; rough = 1.1; side *= 1.2; break; // cycling
            }
            frequency *= pace * Math.exp(around(0, 0.08));
            bounce *= strength * Math.exp(around(0, 0.25));
            rough *= strength * Math.exp(around(0, 0.3));
            double turnX = tiltX + around(0, 0.25), turnZ = tiltZ + around(0, 0.25), phase = between(0, 6.28);
            double[] x = new double[WindowFeatures.SAMPLES], y = x.clone(), z = x.clone();
            for (int i = 0; i < x.length; i++) {
                double t = 2 * Math.PI * frequency * i / WindowFeatures.HERTZ + phase;
                double up = 9.81 + bounce * (Math.cos(t) + heel * Math.cos(2 * t + 1)) + around(0, rough);
                double forward = 0.5 * bounce * Math.sin(t + 0.7) + around(0, rough);
                double across = side * bounce * Math.sin(t / 2) + around(0, rough);
                // The world's axes in the phone's: a turn round x, then one round z.
                double b = Math.cos(turnX) * up - Math.sin(turnX) * forward;
                z[i] = Math.sin(turnX) * up + Math.cos(turnX) * forward;
                x[i] = Math.cos(turnZ) * across - Math.sin(turnZ) * b;
                y[i] = Math.sin(turnZ) * across + Math.cos(turnZ) * b;
            }
            return WindowFeatures.of(x, y, z);
        }

        private double around(double centre, double deviation) {
            return centre + deviation * random.nextGaussian();
        }

        private double between(double low, double high) {
            return low + (high - low) * random.nextDouble();
        }
    }
}
