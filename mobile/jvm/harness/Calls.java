package harness;

import java.nio.file.Path;
import org.p2pnode.mobile.Node;

/** What single calls cost, with a narrow and a wide task, a number and six classes. */
final class Calls implements Scenario {
    @Override
    public void run(Path dir) throws Exception {
        for (int width : new int[] {32, 561}) {
            for (int classes : new int[] {0, 6}) {
                measure(dir.resolve(width + "-" + classes), new Problem(width, classes, 1));
            }
        }
    }

    private static void measure(Path dir, Problem problem) throws Exception {
        String task = String.format("p = %d, %s: ", problem.width, problem.classes == 0 ? "a number" : problem.classes + " classes");
        try (App app = new App(dir, problem)) {
            Stopwatch durable = new Stopwatch();
            for (int i = 0; i < 20; i++) {
                byte[] rows = Problem.bytes(problem.examples(25));
                durable.time(() -> app.node.addExamples(rows));
            }
            durable.print(task + "addExamples, 25 each");
            Stopwatch slices = new Stopwatch();
            slices.time(() -> app.node.train(600_000));
            slices.print(task + "train, 500 new examples");
            quick(app.node, problem, task, 5000, "");
            underWay(app.node, problem, task);
            Memory.print(task + "after that");
        }
    }

    /** The model is up to date and nothing else goes on. */
    private static void quick(Node node, Problem problem, String task, int count, String when) throws Exception {
        Stopwatch predict = new Stopwatch();
        Stopwatch json = new Stopwatch();
        Stopwatch status = new Stopwatch();
        for (int i = 0; i < count; i++) {
            double[] row = problem.example();
            byte[] x = Problem.bytes(row, problem.width);
            predict.time(() -> node.predict(x));
            if (i % 10 == 0) {
                String text = problem.json(row, false);
                json.time(() -> node.predictJSON(text));
                status.time(() -> node.statusJSON());
            }
        }
        predict.print(task + "predict" + when);
        json.print(task + "predictJSON" + when);
        status.print(task + "statusJSON" + when);
    }

    /** Examples arrive, and the model is fitted all the time. */
    private static void underWay(Node node, Problem problem, String task) throws Exception {
        Stopwatch add = new Stopwatch();
        Stopwatch predict = new Stopwatch();
        Stopwatch status = new Stopwatch();
        Stopwatch sleep = new Stopwatch(); // how late the machine lets anybody go on
        long end = System.nanoTime() + 20_000_000_000L;
        while (System.nanoTime() < end) {
            double[] row = problem.example();
            byte[] x = Problem.bytes(row, problem.width);
            add.time(() -> node.addExample(x, row[problem.width]));
            predict.time(() -> node.predict(x));
            status.time(() -> node.statusJSON());
            sleep.time(() -> Thread.sleep(50)); // twenty examples a second
        }
        add.print(task + "addExample, fitting");
        predict.print(task + "predict, fitting");
        status.print(task + "statusJSON, fitting");
        sleep.print(task + "a sleep of 50 ms beside that");
        Stopwatch slice = new Stopwatch();
        slice.time(() -> node.train(600_000));
        slice.print(task + "train, what is left");
    }
}
