package harness;

import java.nio.file.Files;
import java.nio.file.Path;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Features;
import org.p2pnode.mobile.Mobile;
import org.p2pnode.mobile.Node;

/** Bad input of every kind is an exception with a code, and nothing else comes of it. */
final class Errors implements Scenario {
    private static final int WIDTH = 4;
    private static final byte[] NONE = new byte[0];
    private static final byte[] ODD = new byte[8 * WIDTH - 1];
    private static final byte[] LONG = new byte[8 * WIDTH + 8];
    private static final byte[] GOOD = new byte[8 * WIDTH];

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(WIDTH, 0, 1);
        configurations(dir, problem);
        try (App app = new App(dir.resolve("node"), problem)) {
            vectors(app.node);
            texts(app.node, dir);
            numbers(app.node);
            Check.same(0.0, Json.number(app.status(), "node.records"), "examples after bad input only");
            app.node.stop();
            stopped(app.node, dir);
        }
        full(dir.resolve("small"), problem);
        damaged(dir.resolve("damaged"), problem);
    }

    private static void configurations(Path dir, Problem problem) throws Exception {
        bad("no configuration", () -> Mobile.newNode(null, null));
        bad("no directory", () -> Mobile.newNode(Mobile.newConfig("", "movies"), null));
        bad("null directory", () -> Mobile.newNode(Mobile.newConfig(null, "movies"), null));
        bad("no task", () -> Mobile.newNode(Mobile.newConfig(dir.resolve("x").toString(), null), null));
        bad("an unknown task", () -> Mobile.newNode(Mobile.newConfig(dir.resolve("x").toString(), "nonsense"), null));
        for (String settings : new String[] {"nonsense", "epsilon = -1.0", "unknown = 1", "epsilon = 1e9", "listen = [\"x\"]"}) {
            Config c = App.config(dir.resolve("x"), problem);
            c.setSettings(settings);
            bad(settings, () -> Mobile.newNode(c, null));
        }
        Config c = Mobile.newConfig(dir.resolve("x").toString(), "movies");
        for (String address : new String[] {"", null, "nonsense", "/ip4/300.1.1.1/tcp/1", "http://example.org"}) {
            bad("listen " + address, () -> c.addListen(address));
            bad("bootstrap " + address, () -> c.addBootstrap(address));
        }
        for (String key : new String[] {"", null, "nonsense", "/key/swarm/psk/1.0.0/\n/base16/\n00ff\n"}) {
            bad("network key " + key, () -> c.setNetworkKey(key));
        }
        String authority = "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp";
        bad("no authority", () -> c.joinMembers("garden", null, null));
        bad("no network", () -> c.joinMembers(null, authority, null));
        bad("a list that nobody signed", () -> c.joinMembers("garden", authority, ODD));
        bad("bootstrap without a peer", () -> c.addBootstrap("/ip4/127.0.0.1/tcp/4001"));
        for (String json : new String[] {"", null, "[]", "{", "{\"data_dir\":5}", "{\"unknown\":1}"}) {
            bad("configuration " + json, () -> Mobile.parseConfig(json));
        }
        for (long percent : new long[] {-1, 101, Long.MAX_VALUE}) {
            Config m = App.config(dir.resolve("x"), problem);
            m.setMinBatteryPercent(percent);
            bad("min battery " + percent, () -> Mobile.newNode(m, null));
        }
        for (long limit : new long[] {-1, Long.MIN_VALUE}) {
            Config q = App.config(dir.resolve("x"), problem);
            q.setQueueLimit(limit);
            bad("queue limit " + limit, () -> Mobile.newNode(q, null));
            q.setQueueLimit(10);
            q.setMaxExamples(limit);
            bad("max examples " + limit, () -> Mobile.newNode(q, null));
            q.setMaxExamples(0);
            q.setLogLevel(limit);
            bad("log level " + limit, () -> Mobile.newNode(q, null));
        }
        Check.that(!Files.exists(dir.resolve("x")), "a refused configuration made its directory");
    }

    private static void vectors(Node node) throws Exception {
        for (byte[] v : new byte[][] {null, NONE, ODD, LONG}) {
            String what = v == null ? "null" : v.length + " bytes";
            bad("predict " + what, () -> node.predict(v));
            bad("probabilities " + what, () -> node.probabilities(v));
            bad("addExample " + what, () -> node.addExample(v, 0));
        }
        for (byte[] v : new byte[][] {ODD, GOOD, new byte[8 * WIDTH + 9]}) {
            bad("addExamples " + v.length + " bytes", () -> node.addExamples(v));
        }
        for (double d : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            bad("label " + d, () -> node.addExample(GOOD, d));
            if (Double.isNaN(d)) {
                continue; // a feature that is not known
            }
            byte[] v = Problem.bytes(0, d, 0, 0);
            bad("predict " + d, () -> node.predict(v));
            bad("addExample " + d, () -> node.addExample(v, 0));
            bad("addExamples " + d, () -> node.addExamples(Problem.bytes(0, d, 0, 0, 0)));
        }
        bad("probabilities of a number", () -> node.probabilities(GOOD));
        node.predict(Problem.bytes(1e308, -1e308, 0, 0)); // outside the range: clamped
    }

    private static void texts(Node node, Path dir) throws Exception {
        for (String s : new String[] {"", null, "nonsense", "{", "[1", "\u0000", "{\"x0\":{}}", "{\"x9\":1}"}) {
            bad("predictJSON " + s, () -> node.predictJSON(s));
            bad("addExampleJSON " + s, () -> node.addExampleJSON(s));
            bad("deleteExamples " + s, () -> node.deleteExamples(s));
            bad("addPeer " + s, () -> node.addPeer(s));
            bad("removePeer " + s, () -> node.removePeer(s));
        }
        for (String s : new String[] {"nonsense", "{", "[{\"name\":5}]", "[{\"addrs\":[\"nonsense\"]}]"}) {
            bad("interfaces " + s, () -> node.setNetwork(Mobile.NetUnmetered, s, ""));
            bad("name servers " + s, () -> node.setNetwork(Mobile.NetUnmetered, "", s));
        }
        for (byte[] list : new byte[][] {null, NONE, ODD}) {
            bad("members without a private network", () -> node.importMembers(list));
        }
        bad("addPeer without a peer", () -> node.addPeer("/ip4/127.0.0.1/tcp/4001"));
        bad("a file that is not there", () -> node.importCSV(dir.resolve("nowhere.csv").toString(), false, false));
        bad("no file", () -> node.importCSV(null, true, false));
        Check.fails(Mobile.CodeStorage, "a crash file nowhere", () -> Mobile.setCrashFile(dir.resolve("no/such/file").toString()));
        Mobile.setCrashFile(null); // none: no more
        Check.same("", Mobile.errorCode("nonsense"), "the code of no error of ours");
        Check.same("", Mobile.errorCode(null), "the code of null");
    }

    private static void numbers(Node node) throws Exception {
        for (long n : new long[] {-1, 3, Long.MAX_VALUE, Long.MIN_VALUE}) {
            bad("network " + n, () -> node.setNetwork(n, "", ""));
        }
        for (long n : new long[] {-2, 101, Long.MAX_VALUE, Long.MIN_VALUE}) {
            bad("battery " + n, () -> node.setPower(n, false, false));
        }
        bad("train for less than nothing", () -> node.train(-1));
        for (long n : new long[] {-1, 0, Long.MIN_VALUE}) {
            bad("examples from " + n + " on", () -> node.examplesJSON(n, 10));
        }
        for (long n : new long[] {-1, 0, 1001, Long.MAX_VALUE}) {
            bad(n + " examples", () -> node.examplesJSON(1, n));
        }
        Check.same("[]", node.examplesJSON(Long.MAX_VALUE, 10).trim(), "examples beyond the last");
        bad("a negative limit", () -> Mobile.setMemoryLimit(-1));
        Features f = Mobile.newFeatures(WIDTH);
        for (long i : new long[] {-1, WIDTH, Long.MAX_VALUE}) {
            bad("feature " + i, () -> f.set(i, 1));
        }
        for (long n : new long[] {-1, 0, Long.MIN_VALUE}) {
            Check.that(Mobile.newFeatures(n).bytes() == null, "bytes of a vector of %d", n);
        }
        Check.same(8 << 16, Mobile.newFeatures(Long.MAX_VALUE).bytes().length, "bytes of the longest vector");
    }

    private static void stopped(Node node, Path dir) throws Exception {
        Check.Call[] calls = {
            () -> node.start(), () -> node.pause("x"), () -> node.resume(), () -> node.train(10),
            () -> node.setNetwork(Mobile.NetNone, "", ""), () -> node.setPower(50, true, false), () -> node.trimMemory(),
            () -> node.addPeer("x"), () -> node.removePeer("x"), () -> node.addExample(GOOD, 0), () -> node.addExampleJSON("{}"),
            () -> node.addExamples(new byte[8 * WIDTH + 8]), () -> node.importCSV("x", false, false), () -> node.flush(),
            () -> node.examplesJSON(1, 1), () -> node.deleteExamples("[1]"), () -> node.predict(GOOD), () -> node.predictJSON("{}"),
            () -> node.probabilities(GOOD), () -> node.exportModel(), () -> node.statusJSON(), () -> node.budgetJSON(),
            () -> node.peersJSON(), () -> node.taskJSON(), () -> node.diagnoseJSON(), () -> node.importMembers(NONE),
        };
        for (int i = 0; i < calls.length; i++) {
            Check.fails(Mobile.CodeStopped, "call " + i + " of a stopped node", calls[i]);
        }
        node.stop(); // a second time changes nothing
    }

    private static void full(Path dir, Problem problem) throws Exception {
        Config c = Mobile.parseConfig("{\"max_examples\":5,\"listen\":[\"/ip4/127.0.0.1/tcp/0\"],\"log_level\":3}");
        Check.same(Mobile.LogError, c.getLogLevel(), "a key that was given");
        Check.same(20L, c.getMinBatteryPercent(), "the default of one that was not");
        c.setDataDir(dir.toString());
        c.setTask(problem.task());
        try (App app = new App(c)) {
            Check.fails(Mobile.CodeFull, "six examples", () -> app.node.addExamples(Problem.bytes(problem.examples(6))));
            app.node.addExamples(Problem.bytes(problem.examples(5)));
            Check.fails(Mobile.CodeFull, "one more", () -> app.node.addExample(GOOD, 0));
        }
    }

    private static void damaged(Path dir, Problem problem) throws Exception {
        new App(dir, problem).close();
        Check.fails(Mobile.CodeTask, "another task",
                () -> Mobile.newNode(App.config(dir, new Problem(WIDTH + 1, 0, 1)), null));
        Files.write(dir.resolve("p2pnode.db"), new byte[100]);
        Check.fails(Mobile.CodeStorage, "a damaged store", () -> Mobile.newNode(App.config(dir, problem), null));
    }

    private static void bad(String what, Check.Call call) {
        Check.fails(Mobile.CodeInput, what, call);
    }
}
