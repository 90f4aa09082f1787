package harness;

import java.nio.file.Path;
import org.p2pnode.mobile.Mobile;

/** The same directory again: the same node, the same examples, the same budget spent. */
final class Restart implements Scenario {
    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(8, 0, 1);
        Object before;
        String budget;
        try (App other = new App(dir.resolve("other"), problem).start(); App app = new App(dir.resolve("node"), problem)) {
            other.node.addExamples(Problem.bytes(problem.examples(50)));
            app.node.addExamples(Problem.bytes(problem.examples(50)));
            String refused = Check.fails(Mobile.CodeBusy, "a second node on the directory",
                    () -> new App(dir.resolve("node"), problem));
            Check.that(refused.contains(dir.resolve("node").toString()), "the error does not name the directory: %s", refused);

            app.start().node.addPeer(other.address());
            app.heard.await("released");
            app.node.addExample(new byte[64], 1.5); // which Stop writes, if nothing has by then
            app.node.pause("before the end"); // so that nothing is spent after we have looked
            before = app.status();
            budget = app.node.budgetJSON();
        }
        try (App again = new App(dir.resolve("node"), problem)) {
            Object after = again.status();
            for (String path : new String[] {"node.peer", "node.network", "node.round"}) {
                Check.same(Json.at(before, path), Json.at(after, path), path);
            }
            Check.same(51.0, Json.number(after, "node.records"), "examples");
            double spent = Json.number(Json.parse(budget), "cohorts.0.spent_share");
            Check.that(spent > 0, "nothing was spent");
            Check.same(spent, Json.number(Json.parse(again.node.budgetJSON()), "cohorts.0.spent_share"), "the share spent");
        }
    }
}
