package harness;

import java.nio.file.Path;
import org.p2pnode.mobile.Mobile;

/** Slices of work in the background, without Start. */
final class Training implements Scenario {
    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(8, 0, 1);
        try (App other = new App(dir.resolve("other"), problem).start(); App app = new App(dir.resolve("node"), problem)) {
            other.node.addExamples(Problem.bytes(problem.examples(50)));
            app.node.addPeer(other.address());
            for (int i = 0; i < 30; i++) {
                double[] row = problem.example();
                app.node.addExample(Problem.bytes(row, 8), row[8]);
            }
            Object offline = slice(app, 3000);
            Check.that(Json.string(offline, "waiting").contains("network"), "waiting for %s", Json.at(offline, "waiting"));
            Check.same(0.0, Json.number(offline, "online_millis"), "milliseconds online without a network");
            Check.same(true, Json.at(offline, "fitted"), "fitted");
            Check.same(30.0, Json.number(app.status(), "node.records"), "examples on disk after a slice");
            Check.same(0.0, Json.number(app.status(), "queued"), "queued after a slice");

            app.node.setNetwork(Mobile.NetUnmetered, "", "");
            double releases = 0;
            double heard = 0;
            for (int i = 0; i < 10 && (releases == 0 || heard == 0); i++) {
                Object online = slice(app, 3000);
                Check.that(Json.number(online, "online_millis") > 0, "not online: %s", online);
                releases += Json.number(online, "releases");
                heard += Json.number(online, "heard");
                Check.same("off", app.state(), "the state after a slice");
            }
            Check.that(releases > 0 && heard > 0, "%.0f releases, %.0f models heard in ten slices", releases, heard);
            interrupted(app);
        }
    }

    private static Object slice(App app, long millis) throws Exception {
        long begin = System.nanoTime();
        String result = app.node.train(millis);
        double took = (System.nanoTime() - begin) / 1e6;
        System.out.printf("%.0f ms: %s%n", took, result);
        // A second is promised, three are for a machine with much else to do.
        Check.that(took < millis + 4000, "a slice of %d ms took %.0f", millis, took);
        return Json.parse(result);
    }

    /** Stop ends a slice. */
    private static void interrupted(App app) throws Exception {
        Thread worker = new Thread(() -> {
            try {
                app.node.train(60_000);
            } catch (Exception e) {
                // stopped, or ended early: both are an answer
            }
        });
        worker.start();
        Thread.sleep(300); // somewhere in the slice
        app.node.stop();
        worker.join(10_000);
        Check.that(!worker.isAlive(), "a slice goes on after Stop");
    }
}
