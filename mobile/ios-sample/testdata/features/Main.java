// Prints the features of windows that do not come from a sensor, as main.swift does.
import org.example.activity.WindowFeatures;

public final class Main {
    public static void main(String[] args) {
        long s = 1;
        for (int w = 0; w < 50; w++) {
            double[][] v = new double[3][WindowFeatures.SAMPLES];
            for (int i = 0; i < WindowFeatures.SAMPLES; i++) {
                for (int k = 0; k < 3; k++) {
                    s = (s * 1103515245L + 12345L) % 2147483648L;
                    double wave = w % 5 * Math.sin(0.05 * (1 + w % 7) * i * (k + 1));
                    v[k][i] = (k == w % 3 ? 9.81 : 0.3) + wave + w % 4 * 0.7 * (s / 2147483648.0 - 0.5);
                }
            }
            for (double f : WindowFeatures.of(v[0], v[1], v[2])) System.out.println(f);
        }
    }
}
