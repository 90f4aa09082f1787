package harness;

import java.nio.file.Path;
import java.util.List;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Mobile;
import org.p2pnode.mobile.Node;

/** An app with one node, that can only be reached on this machine. */
final class App implements AutoCloseable {
    /** A budget so generous that twenty releases say nearly everything. */
    static final String GENEROUS = "epsilon = 1000.0\nreleases = 20\nwake_seconds = 0.2\n";

    final Recorder heard = new Recorder();
    final Node node;

    App(Path dir, Problem problem) throws Exception {
        this(config(dir, problem));
    }

    App(Config config) throws Exception {
        node = Mobile.newNode(config, heard);
    }

    static Config config(Path dir, Problem problem) throws Exception {
        Config c = Mobile.newConfig(dir.toString(), problem.task());
        c.setSettings("mdns = false\nupnp = false\ndht = \"off\"\n" + GENEROUS);
        c.addListen("/ip4/127.0.0.1/tcp/0");
        return c;
    }

    /** Starts where nothing stands against it: on Wi-Fi and charging. */
    App start() throws Exception {
        node.setNetwork(Mobile.NetUnmetered, "", "");
        node.start();
        return this;
    }

    Object status() throws Exception {
        return Json.parse(node.statusJSON());
    }

    String state() throws Exception {
        return Json.string(status(), "state");
    }

    void waitFor(String state) throws Exception {
        Check.within(30, "the state " + state + "; it is " + node.statusJSON(), () -> state().equals(state));
    }

    /** Where others can connect to, once it is running. */
    String address() throws Exception {
        waitFor("running");
        Check.within(10, "an address", () -> !addresses().isEmpty());
        return (String) addresses().get(0);
    }

    List<?> addresses() throws Exception {
        List<?> addrs = (List<?>) Json.at(status(), "node.addrs");
        return addrs == null ? List.of() : addrs;
    }

    @Override
    public void close() {
        try {
            node.stop();
        } catch (Exception e) {
            throw new IllegalStateException("Stop failed", e);
        }
    }
}
