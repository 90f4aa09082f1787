package harness;

import java.nio.file.Path;
import org.p2pnode.mobile.Mobile;

/** How much memory a process with nodes takes, beside what Java takes anyway. */
final class Footprint implements Scenario {
    @Override
    public void run(Path dir) throws Exception {
        Memory.print("Java alone");
        Mobile.version();
        Memory.print("the library loaded");
        Problem problem = new Problem(32, 0, 1);
        try (App app = new App(dir.resolve("a"), problem)) {
            Memory.print("one node, not started");
            app.start().waitFor("running");
            Thread.sleep(5000);
            Memory.print("one node, idle, nobody there");
            app.node.addExamples(Problem.bytes(problem.examples(500)));
            try (App other = new App(dir.resolve("b"), problem)) {
                other.node.addExamples(Problem.bytes(problem.examples(500)));
                other.start().node.addPeer(app.address());
                Check.within(120, "all of the budget is released",
                        () -> Json.number(app.status(), "node.privacy.left") == 0);
                Memory.print("two nodes, 500 examples each, learning");
            }
            app.node.trimMemory();
            Memory.print("one node again, trimmed");
        }
    }
}
