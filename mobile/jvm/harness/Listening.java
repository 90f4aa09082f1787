package harness;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Listener;
import org.p2pnode.mobile.Mobile;
import org.p2pnode.mobile.Node;

/** What the app's listener is told, and what it may do meanwhile: throw, block, call, stop. */
final class Listening implements Scenario {
    private static final int WIDTH = 8;
    private final Problem problem = new Problem(WIDTH, 0, 1);

    @Override
    public void run(Path dir) throws Exception {
        inOrder(dir.resolve("order"));
        throwing(dir.resolve("throwing"));
        blocking(dir.resolve("blocking"));
        stopping(dir.resolve("stopping"));
        try (App app = new App(App.config(dir.resolve("nobody"), problem))) {
            app.node.addExamples(Problem.bytes(problem.examples(10)));
        }
        Mobile.newNode(App.config(dir.resolve("nobody"), problem), null).stop(); // no listener at all
    }

    /** One thread tells everything, in the order in which it happened. */
    private void inOrder(Path dir) throws Exception {
        App app = new App(dir, problem);
        app.node.addExamples(Problem.bytes(problem.examples(20)));
        app.heard.await("stored", "examples", 20.0);
        app.heard.await("model", "examples", 20.0);
        app.start();
        app.waitFor("running");
        app.heard.await("state", "state", "running");
        app.node.pause("in the background");
        app.heard.await("state", "state", "paused");
        app.node.resume();
        Check.within(30, "running again, but " + app.heard, () -> told(app.heard).matches(".*paused.*running.*"));
        app.close();
        int told = app.heard.all().size();

        String states = told(app.heard);
        Check.that(states.matches("(waiting )*(starting )?running paused (starting )?running .*"), "states told: %s", states);
        List<Recorder.Event> all = app.heard.all();
        for (Recorder.Event e : all) {
            Check.same(all.get(0).thread, e.thread, "the thread that tells " + e);
        }
        Check.that(!app.heard.log().isEmpty(), "nothing was logged");
        Check.same(told, app.heard.all().size(), "events told after Stop had returned");
    }

    /** The states that a listener was told of, in order. */
    private static String told(Recorder heard) {
        StringBuilder states = new StringBuilder();
        for (Recorder.Event e : heard.of("state")) {
            states.append(Json.string(e.payload, "state")).append(" ");
        }
        return states.toString();
    }

    /** Whatever the app throws, the node goes on, and so do the events. */
    private void throwing(Path dir) throws Exception {
        AtomicInteger thrown = new AtomicInteger();
        Listener thrower = new Listener() {
            @Override
            public void onEvent(String kind, String payloadJSON) throws Exception {
                switch (thrown.incrementAndGet() % 3) {
                    case 0: throw new Exception("checked");
                    case 1: throw new IllegalStateException();
                    default: throw new StackOverflowError("an error");
                }
            }

            @Override
            public void onLog(long level, String message) throws Exception {
                throw new NullPointerException("in the log");
            }
        };
        Node node = Mobile.newNode(App.config(dir, problem), thrower);
        for (int i = 1; i <= 10; i++) {
            int before = thrown.get();
            node.addExamples(Problem.bytes(problem.examples(5)));
            Check.within(30, "another event after " + before, () -> thrown.get() > before);
        }
        Check.same(50.0, Json.number(Json.parse(node.statusJSON()), "node.records"), "examples");
        node.stop();
    }

    /** A listener that hangs delays nobody, and is told how many events it lost. */
    private void blocking(Path dir) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        Recorder slow = new Recorder() {
            @Override
            public void onEvent(String kind, String payloadJSON) throws Exception {
                go.await();
                super.onEvent(kind, payloadJSON);
            }
        };
        Node node = Mobile.newNode(App.config(dir, problem), slow);
        for (int i = 0; i < 400; i++) {
            node.addExamples(Problem.bytes(problem.example()));
        }
        go.countDown();
        slow.await("stored", "examples", 400.0);
        Check.that(!slow.of("lost").isEmpty(), "no word of lost events");
        node.stop();
    }

    /** The listener itself may stop the node, and hears nothing after that. */
    private void stopping(Path dir) throws Exception {
        AtomicReference<Node> node = new AtomicReference<>();
        AtomicReference<Throwable> failed = new AtomicReference<>();
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicInteger late = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1);
        Config c = App.config(dir, problem);
        c.setLogLevel(Mobile.LogOff);
        node.set(Mobile.newNode(c, new Listener() {
            @Override
            public void onEvent(String kind, String payloadJSON) throws Exception {
                if (stopped.get()) {
                    late.incrementAndGet();
                }
                if (!kind.equals("stored")) {
                    return;
                }
                try {
                    node.get().statusJSON();
                    node.get().predict(new byte[8 * WIDTH]);
                    node.get().stop();
                    stopped.set(true);
                } catch (Throwable t) {
                    failed.set(t);
                }
                done.countDown();
            }

            @Override
            public void onLog(long level, String message) {}
        }));
        node.get().setNetwork(Mobile.NetUnmetered, "", "");
        node.get().start();
        node.get().addExample(new byte[8 * WIDTH], 1);
        Check.that(done.await(30, TimeUnit.SECONDS), "Stop from the listener does not return");
        Check.that(failed.get() == null, "from the listener: %s", failed.get());
        Check.fails(Mobile.CodeStopped, "a call after that", () -> node.get().statusJSON());
        new App(App.config(dir, problem)).close(); // the directory is free
        Check.same(0, late.get(), "events after Stop");
    }
}
