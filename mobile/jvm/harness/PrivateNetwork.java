package harness;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Mobile;

/** A network key and a membership list keep strangers away, and stay when an app leaves them out. */
final class PrivateNetwork implements Scenario {
    private static final String AUTHORITY = "12D3KooWHbTtWKpztm5k12NquPTBaqHSfzHuYwYKpZUjGEr61JQV";

    /** A list with one member, which is none of the nodes here. */
    private static final String LIST =
            "# The members of a private network. It is signed: change it with p2pnode members.\n"
            + "network = 'garden'\nversion = 2\nissued = 2026-11-21T00:17:30Z\n\n"
            + "[[member]]\npeer = '12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp'\n"
            + "name = 'house'\nadded = 2026-11-21T00:17:30Z\n\n"
            + "[signature]\nauthority = '" + AUTHORITY + "'\n"
            + "value = 'aF7VkWLVQhwuhRPT6JSYkFvOl7DmsI72mXpukVCJOKxSlBFcWPNKIl+TRMKFfCrzVRNiZRbzOk686LxHGORuCw=='\n";

    @Override
    public void run(Path dir) throws Exception {
        Problem problem = new Problem(4, 0, 1);
        key(dir, problem);
        members(dir, problem);
    }

    private static String key(String digits) {
        return "/key/swarm/psk/1.0.0/\n/base16/\n" + digits.repeat(32) + "\n";
    }

    private static void key(Path dir, Problem problem) throws Exception {
        Config with = App.config(dir.resolve("a"), problem);
        with.setNetworkKey(key("a5"));
        Config same = App.config(dir.resolve("b"), problem);
        same.setNetworkKey(key("a5"));
        Config other = App.config(dir.resolve("c"), problem);
        other.setNetworkKey(key("5a"));
        try (App a = new App(with).start(); App b = new App(same).start(); App c = new App(other).start();
                App open = new App(dir.resolve("d"), problem).start()) {
            b.waitFor("running");
            b.node.addPeer(a.address());
            b.heard.await("peer", "connected", true);
            refused(a, c);
            refused(a, open);
            Check.same(Json.string(a.status(), "node.private.key_fingerprint"), Json.string(b.status(), "node.private.key_fingerprint"), "the key");
        }
        Check.fails(Mobile.CodeInput, "another key", () -> {
            with.setNetworkKey(key("5a"));
            Mobile.newNode(with, null);
        });
        try (App a = new App(dir.resolve("a"), problem)) {
            Check.that(Json.at(a.status(), "node.private") != null, "the key is gone when the app leaves it out");
        }
    }

    private static void members(Path dir, Problem problem) throws Exception {
        Config config = App.config(dir.resolve("member"), problem);
        config.joinMembers("garden", AUTHORITY, null);
        byte[] list = LIST.getBytes(StandardCharsets.UTF_8);
        try (App joined = new App(config).start(); App open = new App(dir.resolve("stranger"), problem).start()) {
            refused(joined, open);
            joined.node.importMembers(list);
            joined.node.importMembers(list); // a second time changes nothing
            Check.same(1.0, Json.number(joined.status(), "node.private.members"), "members");
            Check.same(false, Json.at(joined.status(), "node.private.listed"), "that this node is one of them");
            refused(joined, open);
        }
        config.joinMembers("garden", AUTHORITY, list);
        new App(config).close();
        config.joinMembers("field", AUTHORITY, null);
        Check.fails(Mobile.CodeInput, "another network", () -> Mobile.newNode(config, null));
    }

    /** A stranger that tries to reach a node gets no connection. */
    private static void refused(App node, App stranger) throws Exception {
        int attempts = stranger.heard.of("peer").size();
        stranger.waitFor("running");
        stranger.node.addPeer(node.address());
        Check.within(30, "the attempt is over", () -> stranger.heard.of("peer").size() > attempts);
        Check.that(stranger.heard.of("peer").stream().noneMatch(e -> Json.at(e.payload, "connected").equals(true)),
                "a stranger is connected: %s", stranger.heard);
        String met = node.node.peersJSON();
        Check.that(!met.contains(Json.string(stranger.status(), "node.peer")), "the stranger was met: %s", met);
    }
}
