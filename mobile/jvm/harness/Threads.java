package harness;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.p2pnode.mobile.Mobile;
import org.p2pnode.mobile.Node;

/** Eight threads call everything at once, on two nodes that talk to a third. */
final class Threads implements Scenario {
    private static final int WIDTH = 8;
    private static final long MILLIS = 4000;

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(WIDTH, 3, 1);
        try (App a = new App(dir.resolve("a"), problem).start(); App b = new App(dir.resolve("b"), problem).start();
                App third = new App(dir.resolve("third"), problem).start()) {
            String address = third.address();
            AtomicBoolean over = new AtomicBoolean();
            Hammer hammer = new Hammer(List.of(a, b), address, Set.of(Mobile.CodeFull, Mobile.CodeBusy));
            List<Thread> threads = hammer.start(8, over);
            Thread.sleep(MILLIS);
            over.set(true);
            for (Thread t : threads) {
                t.join(30_000);
                Check.that(!t.isAlive(), "%s hangs", t.getName());
            }
            hammer.check();
            Check.that(hammer.calls.get() > 200, "%d calls only", hammer.calls.get());
            System.out.println(hammer.calls + " calls");
            // Both are whole: everything that was taken is on disk.
            a.node.flush();
            b.node.resume();
            b.waitFor("running");
        }
    }

    /** Threads that call everything an app can, until they are told to end. */
    static final class Hammer {
        final AtomicInteger calls = new AtomicInteger();
        private final AtomicReference<Throwable> failed = new AtomicReference<>();
        private final List<App> apps;
        private final String address;
        private final Set<String> allowed;

        /** Errors with one of the allowed codes are as good as success. */
        Hammer(List<App> apps, String address, Set<String> allowed) {
            this.apps = apps;
            this.address = address;
            this.allowed = allowed;
        }

        List<Thread> start(int count, AtomicBoolean over) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int first = i;
                Thread t = new Thread(() -> run(first, over), "thread " + i);
                t.start();
                threads.add(t);
            }
            return threads;
        }

        void check() {
            if (failed.get() != null) {
                throw new AssertionError("in a thread", failed.get());
            }
        }

        private void run(int first, AtomicBoolean over) {
            Problem problem = new Problem(WIDTH, 3, first);
            for (int i = first; !over.get() && failed.get() == null; i++) {
                Check.Call[] all = calls(apps.get(i % apps.size()).node, problem);
                try {
                    all[(i / apps.size()) % all.length].run();
                } catch (Exception e) {
                    if (!allowed.contains(Mobile.errorCode(e.getMessage()))) {
                        failed.compareAndSet(null, e);
                    }
                } catch (Error e) {
                    failed.compareAndSet(null, e);
                }
                calls.incrementAndGet();
            }
        }

        /** What is to be removed may be gone, or not there yet. */
        private static void unlessGone(Check.Call removal) throws Exception {
            try {
                removal.run();
            } catch (Exception e) {
                if (!Mobile.errorCode(e.getMessage()).equals(Mobile.CodeInput)) {
                    throw e;
                }
            }
        }

        private Check.Call[] calls(Node node, Problem problem) {
            double[] row = problem.example();
            byte[] x = Problem.bytes(row, WIDTH);
            return new Check.Call[] {
                () -> node.addExample(x, row[WIDTH]), () -> node.addExamples(Problem.bytes(problem.examples(3))),
                () -> node.addExampleJSON(problem.json(row, true)), () -> node.flush(), () -> node.predict(x),
                () -> node.predictJSON(problem.json(row, false)), () -> node.probabilities(x), () -> node.statusJSON(),
                () -> node.budgetJSON(), () -> node.peersJSON(), () -> node.taskJSON(), () -> node.examplesJSON(1, 5),
                () -> node.exportModel(), () -> node.train(20), () -> node.pause("a test"), () -> node.resume(), () -> node.start(),
                () -> node.setNetwork(Mobile.NetUnmetered, "", ""), () -> node.setPower(80, false, false),
                () -> node.addPeer(address), () -> unlessGone(() -> node.removePeer(address)), () -> node.trimMemory(),
                () -> unlessGone(() -> node.deleteExamples("[" + (1 + (int) row[WIDTH]) + "]")),
            };
        }
    }
}
