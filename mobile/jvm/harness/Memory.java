package harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the process holds, in megabytes. */
final class Memory {
    private Memory() {}

    /** What is resident, the JVM's own part included. */
    static double resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) / 1024.0;
            }
        }
        throw new IOException("no VmRSS in /proc/self/status");
    }

    /** Java objects that are in use. */
    static double heap() {
        System.gc();
        System.runFinalization();
        System.gc();
        Runtime r = Runtime.getRuntime();
        return (r.totalMemory() - r.freeMemory()) / 1048576.0;
    }

    static void print(String when) throws IOException {
        double heap = heap();
        System.out.printf("%-44s RSS %6.1f MB, Java heap %5.1f MB%n", when, resident(), heap);
    }
}
