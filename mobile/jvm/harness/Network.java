package harness;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.p2pnode.mobile.Mobile;

/** Sockets are there while a node takes part in the network, and only then. */
final class Network implements Scenario {
    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(4, 0, 1);
        connects(1); // Java keeps one socket of its own from its first on
        long before = sockets();
        try (App a = new App(dir.resolve("a"), problem); App b = new App(dir.resolve("b"), problem)) {
            Check.same(before, sockets(), "sockets of nodes that were not started");
            a.start();
            b.start();
            int port = port(a.address());
            Check.that(connects(port), "nobody listens at %s", a.address());
            b.node.addPeer(a.address());
            b.heard.await("peer", "connected", true);
            interfaces(a);

            a.node.pause("in the background");
            a.node.pause("in the background"); // a second time changes nothing
            b.node.pause("in the background");
            Check.same(before, sockets(), "sockets of paused nodes");
            Check.that(!connects(port), "a paused node listens");
            Check.same(0, a.addresses().size(), "addresses of a paused node");

            a.node.resume();
            a.node.resume();
            b.node.resume();
            Check.that(connects(port(a.address())), "nobody listens after a pause");
            b.node.removePeer(a.address());
            Json.parse(b.node.peersJSON());
            Json.parse(a.node.diagnoseJSON());
            refused(b);
        }
        Check.same(before, sockets(), "sockets of stopped nodes");
    }

    /** What the system names to Java code only is announced. */
    private static void interfaces(App app) throws Exception {
        app.node.setNetwork(Mobile.NetUnmetered,
                "[{\"name\":\"lo\",\"index\":1,\"addrs\":[\"127.0.0.1\"],\"multicast\":false}]", "[\"127.0.0.1\"]");
        Check.within(10, "the address on lo", () -> !app.addresses().isEmpty());
    }

    /** A peer that cannot be reached is told of too. */
    private static void refused(App app) throws Exception {
        String nobody = "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp";
        app.node.addPeer("/ip4/127.0.0.1/tcp/1/p2p/" + nobody);
        app.heard.await("peer", "id", nobody);
        app.node.removePeer(nobody);
    }

    private static int port(String address) {
        return Integer.parseInt(address.split("/")[4]);
    }

    private static boolean connects(int port) {
        try (Socket s = new Socket()) {
            s.connect(new InetSocketAddress("127.0.0.1", port), 2000);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** How many sockets the process has open. */
    private static long sockets() throws IOException {
        long count = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path f : files) {
                try {
                    count += Files.readSymbolicLink(f).toString().startsWith("socket:") ? 1 : 0;
                } catch (IOException e) {
                    continue; // closed meanwhile
                }
            }
        }
        return count;
    }
}
