package harness;

import java.nio.file.Path;

/** Runs one scenario, given by its name, in an empty directory of its own. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        int status = 1;
        try {
            scenario(args[0]).run(Path.of(args[1]));
            status = 0;
        } catch (Throwable t) {
            t.printStackTrace();
        }
        // A thread of Go's that called back stays attached to the JVM, which would
        // wait for it for ever.
        System.exit(status);
    }

    private static Scenario scenario(String name) {
        switch (name) {
            case "calls": return new Calls();
            case "conditions": return new Conditions();
            case "erase": return new Erase();
            case "errors": return new Errors();
            case "examples": return new Examples();
            case "footprint": return new Footprint();
            case "growth": return new Growth();
            case "interfaces": return new Interfaces();
            case "learn": return new Learn();
            case "listener": return new Listening();
            case "network": return new Network();
            case "private": return new PrivateNetwork();
            case "restart": return new Restart();
            case "stop": return new Stops();
            case "sums": return new Sums();
            case "threads": return new Threads();
            case "train": return new Training();
            default: throw new IllegalArgumentException("no scenario " + name);
        }
    }
}
