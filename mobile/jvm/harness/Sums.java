package harness;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Mobile;

/**
 * Phones take part in private sums, whose committee runs in the test that starts this: one
 * that is held back adds nothing, later examples are part of a later sum, and a newcomer
 * predicts with what all say together.
 */
final class Sums implements Scenario {
    private static final int THINGS = 6;

    @Override
    public void run(Path dir) throws Exception {
        List<App> people = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                App app = new App(config(dir.resolve("phone" + i)));
                people.add(app);
                app.node.addExamples(likes(i, 40));
                app.start();
            }
            Config careful = config(dir.resolve("held"));
            careful.setRequireCharging(true);
            App held = new App(careful);
            people.add(held);
            held.node.addExamples(likes(5, 40));
            held.node.setNetwork(Mobile.NetMetered, "", "");
            held.node.setPower(50, false, false);
            held.node.start();

            Config without = config(dir.resolve("newcomer"));
            try (App newcomer = new App(without).start()) {
                Check.within(60, "the newcomer has a result", () -> sums(newcomer, "known") > 0);
                heldBack(held);
                later(held);
                Check.within(30, "the newcomer knows what all like", () -> difference(newcomer) > 0.5);
                Check.same(0.0, sums(newcomer, "paid"), "sums that a phone without examples paid for");
                Check.same(8 * 4, newcomer.node.exportModel().length, "bytes of a model");
            }
            try (App again = new App(without)) {
                Check.that(difference(again) > 0.5, "without a network the first prediction knows no sum");
            }
            wrongCatalogue(dir);
            byTicket(dir);
        } finally {
            for (App app : people) {
                app.close();
            }
        }
    }

    private static Config config(Path dir) throws Exception {
        Config c = Mobile.newConfig(dir.toString(), new String(file("task"), StandardCharsets.UTF_8));
        c.addListen("/ip4/127.0.0.1/tcp/0");
        c.addBootstrap(System.getProperty("p2pnode.peer"));
        c.setCatalogue(file("catalogue"));
        return c;
    }

    private static byte[] file(String property) throws Exception {
        return Files.readAllBytes(Path.of(System.getProperty("p2pnode." + property)));
    }

    /** Neither mobile data nor the battery is used. */
    private static void heldBack(App held) throws Exception {
        Check.that(held.node.statusJSON().contains("waiting for Wi-Fi"), "%s", held.node.statusJSON());
        held.node.setNetwork(Mobile.NetUnmetered, "", "");
        Check.within(30, "waiting for the charger", () -> held.node.statusJSON().contains("waiting for the charger"));
        Check.same(0.0, sums(held, "known"), "results of a phone that is held back");
        Check.same(0.0, sums(held, "paid"), "sums that a phone that is held back paid for");
        Check.same(0.0, Json.number(held.status(), "node.privacy.spent"), "what it spent");
    }

    /** On the charger its examples join a sum, and one that comes later the next. */
    private static void later(App held) throws Exception {
        held.node.setPower(50, true, false);
        held.heard.await("sums", "listed", 1.0);
        held.node.addExamples(likes(6, 1));
        held.heard.await("sums", "listed", 2.0);
    }

    private static void wrongCatalogue(Path dir) throws Exception {
        Config other = config(dir.resolve("other"));
        other.setCatalogue("thing\n1\n".getBytes(StandardCharsets.UTF_8));
        Check.fails(Mobile.CodeInput, "another catalogue", () -> Mobile.newNode(other, null));
        Check.fails(Mobile.CodeInput, "an empty catalogue", () -> other.setCatalogue(new byte[0]));
    }

    /** A newcomer who has nothing but the ticket: the file of keys comes from the committee. */
    private static void byTicket(Path dir) throws Exception {
        Config c = Mobile.ticketConfig(dir.resolve("ticket").toString(), new String(file("ticket"), StandardCharsets.UTF_8));
        c.addListen("/ip4/127.0.0.1/tcp/0");
        Object ticket = Json.parse(c.ticketJSON());
        Check.same(false, Json.at(ticket, "secret"), "that the ticket is a secret");
        Check.same(true, Json.at(ticket, "fetch"), "that something is missing");
        Check.same("things", Json.string(ticket, "task.name"), "the task of the ticket");
        Check.same(1.0, Json.number(ticket, "committee.colluding"), "members that may work together");
        c.fetch();
        try (App app = new App(c).start()) {
            Check.within(60, "a node by ticket has a result", () -> sums(app, "known") > 0);
        }
        Check.fails(Mobile.CodeInput, "a mistyped ticket", () -> Mobile.ticketConfig(dir.resolve("x").toString(), "p2p1qqqqqqqq"));
    }

    private static double sums(App app, String what) throws Exception {
        return Json.number(app.status(), "node.sums." + what);
    }

    /** How much better the thing that everybody likes best is predicted than the worst. */
    private static double difference(App app) throws Exception {
        return app.node.predict(Problem.bytes(new double[] {0, THINGS}, 2)) - app.node.predict(Problem.bytes(new double[] {0, 1}, 2));
    }

    /** Examples of somebody who likes the last things best, as everybody does. */
    private static byte[] likes(int person, int count) {
        Random random = new Random(person);
        double[] rows = new double[3 * count];
        for (int i = 0; i < count; i++) {
            double a = 2 * random.nextDouble() - 1;
            int thing = 1 + random.nextInt(THINGS);
            rows[3 * i] = a;
            rows[3 * i + 1] = thing;
            rows[3 * i + 2] = 0.5 * a + thing / 2.0 - 1.75;
        }
        return Problem.bytes(rows);
    }
}
