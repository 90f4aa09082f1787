package org.example.activity;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Random;

/**
 * Lets the sample's P2PNode live through what the app does with it, with the real bindings:
 * records, predicts, learns in a slice, leaves. Arguments: a directory, the task file.
 */
public final class SampleTest {
    private static final int EXAMPLES = 150, TESTS = 100;

    public static void main(String[] args) throws Exception {
        try {
            live(new File(args[0], "p2pnode"), new String(Files.readAllBytes(Paths.get(args[1])), "UTF-8"));
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // Go's threads keep the machine alive
    }

    private static void live(File directory, String task) throws Exception {
        P2PNode node = new P2PNode(directory.getPath(), task, new String[0], new P2PNode.Events() {
            @Override
            public void happened(String kind, String json) {}

            @Override
            public void logged(String message) {
                System.err.println(message);
            }
        });
        node.setPower(80, true, false);
        node.setNetwork(P2PNode.Network.METERED, "[{\"name\":\"lo\",\"index\":1,\"addrs\":[\"127.0.0.1\"],\"multicast\":false}]", "[\"192.0.2.1\"]");
        node.start();
        holds(node.task(), "\"still\",\"walking\",\"running\",\"stairs\",\"cycling\"");
        until(node, "waiting for Wi-Fi");

        People.Person person = new People.Person(People.GROUPS[0], new Random(1));
        for (int i = 0; i < EXAMPLES; i++) {
            int activity = i % People.ACTIVITIES.length;
            node.addExample(person.window(activity), activity);
        }
        holds(node.train(5_000), "\"waiting\":\"waiting for Wi-Fi\"", "\"fitted\":true");
        until(node, "\"records\":" + EXAMPLES);
        until(node, "\"measure\":\"error share\"");
        int right = 0;
        for (int i = 0; i < TESTS; i++) {
            int activity = i % People.ACTIVITIES.length;
            if (node.predict(person.window(activity)) == activity) right++;
        }
        System.out.println(right + " of " + TESTS + " right, alone");
        if (right < TESTS * 7 / 10) throw new AssertionError("chance is " + TESTS / People.ACTIVITIES.length);

        node.pause("in the background");
        until(node, "in the background");
        node.resume();
        node.trimMemory();
        try {
            node.addExample(new double[3], 0);
            throw new AssertionError("three features were taken");
        } catch (Exception e) {
            holds(e.getMessage(), "input: ");
            if (P2PNode.isFull(e)) throw new AssertionError("full: " + e);
        }
        node.leaveAndErase();
        if (directory.exists()) throw new AssertionError(directory + " is still there");
    }

    /** Waits for a state that holds the text. */
    private static void until(P2PNode node, String text) throws Exception {
        for (long end = System.nanoTime() + 30_000_000_000L; !node.status().contains(text); Thread.sleep(50))
            if (System.nanoTime() > end) throw new AssertionError(text + " is not in " + node.status());
    }

    private static void holds(String json, String... texts) {
        for (String text : texts)
            if (!json.contains(text)) throw new AssertionError(text + " is not in " + json);
    }
}
