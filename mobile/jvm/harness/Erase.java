package harness;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.p2pnode.mobile.Mobile;

/** Leaving: the neighbours are told, and nothing of the node is left on the device. */
final class Erase implements Scenario {
    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(8, 0, 1);
        Path leaving = dir.resolve("leaving");
        try (App stays = new App(dir.resolve("stays"), problem).start()) {
            stays.node.addExamples(Problem.bytes(problem.examples(20)));
            App app = new App(leaving, problem).start();
            app.node.addExamples(Problem.bytes(problem.examples(20)));
            app.node.addPeer(stays.address());
            Check.within(30, "a neighbour", () -> Json.number(stays.status(), "node.neighbours") == 1);
            String peer = Json.string(app.status(), "node.peer");

            app.node.leaveAndErase();
            Check.same(0L, files(leaving), "files left");
            Check.within(30, "the neighbour knows", () -> Json.number(stays.status(), "node.neighbours") == 0);
            Check.fails(Mobile.CodeStopped, "a call after that", () -> app.node.statusJSON());
            app.node.stop();

            try (App fresh = new App(leaving, problem)) {
                Check.that(!peer.equals(Json.string(fresh.status(), "node.peer")), "the identity is the old one");
                Check.same(0.0, Json.number(fresh.status(), "node.records"), "examples");
            }
        }
        stopped(dir.resolve("stopped"), problem);
        unopened(dir.resolve("unopened"), problem);
    }

    private static void stopped(Path dir, Problem problem) throws Exception {
        App app = new App(dir, problem);
        app.node.addExamples(Problem.bytes(problem.examples(20)));
        app.node.stop();
        app.node.leaveAndErase();
        Check.same(0L, files(dir), "files left of a node that was stopped");
        Check.fails(Mobile.CodeStopped, "a second time", () -> app.node.leaveAndErase());
    }

    /** A directory may be erased that cannot be opened, but none that is open. */
    private static void unopened(Path dir, Problem problem) throws Exception {
        try (App app = new App(dir, problem)) {
            Check.fails(Mobile.CodeBusy, "a directory in use", () -> Mobile.erase(dir.toString()));
            app.node.statusJSON();
        }
        Files.write(dir.resolve("p2pnode.db"), new byte[100]);
        Mobile.erase(dir.toString());
        Check.same(0L, files(dir), "files left of a damaged node");
        Check.fails(Mobile.CodeInput, "nothing to erase", () -> Mobile.erase(dir.toString()));
        Check.fails(Mobile.CodeInput, "no directory", () -> Mobile.erase(null));
    }

    private static long files(Path dir) throws Exception {
        if (!Files.exists(dir)) {
            return 0;
        }
        try (Stream<Path> all = Files.walk(dir)) {
            return all.filter(Files::isRegularFile).count();
        }
    }
}
