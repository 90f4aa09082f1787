package harness;

import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Mobile;

/** Two nodes that know the network's interfaces from the app find each other by mDNS. */
final class Interfaces implements Scenario {
    private static final String WIFI = "[{\"name\":\"wlan0\",\"index\":7,\"addrs\":[\"10.99.0.1\"],\"multicast\":false}]";

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(4, 0, 1);
        try (App a = new App(config(dir.resolve("a"), problem)); App b = new App(config(dir.resolve("b"), problem))) {
            a.node.setNetwork(Mobile.NetUnmetered, WIFI, "");
            a.node.start();
            a.waitFor("running");
            Check.within(10, "10.99.0.1 announced: " + a.addresses(), () -> announces(a, "10.99.0.1"));

            a.node.setNetwork(Mobile.NetUnmetered, interfaces(), "");
            Check.that(!announces(a, "10.99.0.1"), "the old network's address is still announced");
            b.node.setNetwork(Mobile.NetUnmetered, interfaces(), "");
            b.node.start();
            for (App app : List.of(a, b)) {
                Check.within(60, "a neighbour, found by mDNS", () -> Json.number(app.status(), "node.neighbours") == 1);
            }
        }
    }

    /** On every address of the machine, and with mDNS. */
    private static Config config(Path dir, Problem problem) {
        Config c = Mobile.newConfig(dir.toString(), problem.task());
        c.setSettings("mdns = true\nupnp = false\ndht = \"off\"\n" + App.GENEROUS);
        return c;
    }

    private static boolean announces(App app, String ip) throws Exception {
        return app.addresses().stream().anyMatch(a -> a.toString().startsWith("/ip4/" + ip + "/"));
    }

    /** What Java says of the interfaces, as an app reports it; multicast is tried on lo too. */
    private static String interfaces() throws Exception {
        List<String> list = new ArrayList<>();
        for (NetworkInterface i : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            List<String> addrs = new ArrayList<>();
            for (InterfaceAddress a : i.getInterfaceAddresses()) {
                InetAddress ip = a.getAddress();
                addrs.add('"' + ip.getHostAddress() + '"');
            }
            list.add(String.format("{\"name\":\"%s\",\"index\":%d,\"addrs\":%s,\"multicast\":%b}",
                    i.getName(), i.getIndex(), addrs, i.isLoopback() || i.supportsMulticast()));
        }
        return list.toString();
    }
}
