package harness;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.p2pnode.mobile.Mobile;

/** Stop in the middle of everything, again and again on one directory. */
final class Stops implements Scenario {
    private static final int ROUNDS = 5;

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(8, 3, 1);
        try (App other = new App(dir.resolve("other"), problem).start()) {
            String address = other.address();
            for (int round = 0; round < ROUNDS; round++) {
                App app = new App(dir.resolve("node"), problem).start();
                AtomicBoolean over = new AtomicBoolean();
                Threads.Hammer hammer = new Threads.Hammer(List.of(app), address,
                        Set.of(Mobile.CodeFull, Mobile.CodeBusy, Mobile.CodeStopped));
                List<Thread> threads = hammer.start(4, over);
                Thread.sleep(150 * round); // from before the host is up to the middle of the exchange
                long begin = System.nanoTime();
                app.node.stop();
                double seconds = (System.nanoTime() - begin) / 1e9;
                Check.that(seconds < 10.5, "Stop took %.1f s", seconds);
                over.set(true);
                for (Thread t : threads) {
                    t.join(30_000);
                    Check.that(!t.isAlive(), "%s hangs in a stopped node", t.getName());
                }
                hammer.check();
                System.out.printf("round %d: %s calls, Stop in %.2f s%n", round, hammer.calls, seconds);
            }
        }
    }
}
