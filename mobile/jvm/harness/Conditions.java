package harness;

import java.nio.file.Path;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Mobile;

/** Whether a node takes part, and the reason it gives a user if not. */
final class Conditions implements Scenario {
    private App app;

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(4, 0, 1);
        try (App a = new App(dir.resolve("careful"), problem)) {
            app = a;
            a.node.start();
            careful();
        }
        Config c = App.config(dir.resolve("charging"), problem);
        c.setRequireCharging(true);
        try (App a = new App(c)) {
            app = a;
            a.start();
            runs("at first it is charging");
            a.node.setPower(99, false, false);
            waits("charg");
        }
        c = App.config(dir.resolve("careless"), problem);
        c.setAllowMetered(true);
        c.setAllowPowerSaver(true);
        c.setMinBatteryPercent(0);
        try (App a = new App(c)) {
            app = a;
            a.node.setNetwork(Mobile.NetMetered, "", "");
            a.node.setPower(1, false, true);
            a.node.start();
            runs("everything is allowed");
            a.node.setNetwork(Mobile.NetNone, "", "");
            waits("network");
        }
    }

    /** The default: an unmetered network, and 20 % or charging, and no saver. */
    private void careful() throws Exception {
        waits("network");
        app.node.setNetwork(Mobile.NetMetered, "", "");
        waits("Wi-Fi");
        app.node.setNetwork(Mobile.NetUnmetered, "", "");
        runs("Wi-Fi and charging");
        app.node.setPower(19, false, false);
        waits("battery");
        app.node.setPower(19, true, false);
        runs("low but charging");
        app.node.setPower(20, false, false);
        runs("just enough");
        app.node.setPower(80, false, true);
        waits("sav");
        app.node.setPower(-1, false, false);
        runs("no battery at all");
        app.node.pause("in the background");
        Check.same("in the background", Json.string(app.status(), "reason"), "the reason of a pause");
        app.node.resume();
        runs("after a pause");
    }

    private void waits(String word) throws Exception {
        Check.within(30, "waiting for " + word + ": " + app.node.statusJSON(),
                () -> app.state().equals("waiting") && Json.string(app.status(), "reason").contains(word));
    }

    private void runs(String why) throws Exception {
        Check.within(30, "running: " + why + ", but " + app.node.statusJSON(), () -> app.state().equals("running"));
        Check.same("", Json.string(app.status(), "reason"), "the reason while it runs");
    }
}
