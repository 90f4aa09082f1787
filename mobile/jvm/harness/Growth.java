package harness;

import java.nio.file.Path;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Mobile;
import org.p2pnode.mobile.Node;

/** Nothing grows over 100,000 calls. */
final class Growth implements Scenario {
    private static final int WIDTH = 32;
    private static final int CALLS = 100_000;
    private static final int KEPT = 300;

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(WIDTH, 0, 1);
        Config c = App.config(dir.resolve("node"), problem);
        c.setMaxExamples(KEPT);
        c.setLogLevel(Mobile.LogOff);
        Node node = Mobile.newNode(c, new Forgetful());
        node.addExamples(Problem.bytes(problem.examples(KEPT)));
        node.setNetwork(Mobile.NetUnmetered, "", "");
        node.start();
        Memory.print("before");
        for (int i = 1; i <= CALLS; i++) {
            double[] row = problem.example();
            call(node, problem, row, i);
            if (i % (CALLS / 10) == 0) {
                Memory.print(i + " calls");
            }
        }
        node.stop();
    }

    private static void call(Node node, Problem problem, double[] row, int i) throws Exception {
        byte[] x = Problem.bytes(row, WIDTH);
        switch (i % 8) {
            case 0: node.statusJSON(); break;
            case 1: node.predictJSON(problem.json(row, false)); break;
            case 2: Check.fails(Mobile.CodeFull, "one more", () -> node.addExample(x, 0)); break;
            case 3: node.setPower(50 + i % 50, i % 16 == 3, false); break;
            case 4: org.p2pnode.mobile.Features f = Mobile.newFeatures(WIDTH); f.set(3, 1); node.predict(f.bytes()); break;
            default: node.predict(x);
        }
    }

    /** A listener that keeps nothing. */
    private static final class Forgetful extends Recorder {
        @Override
        public void onEvent(String kind, String payloadJSON) {}

        @Override
        public void onLog(long level, String message) {}
    }
}
