package org.example.activity;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.p2pnode.mobile.Config;
import org.p2pnode.mobile.Listener;
import org.p2pnode.mobile.Mobile;
import org.p2pnode.mobile.Node;

/**
 * Every call to the bindings is in this file, and nothing of Android: javac checks it where
 * no Android SDK is. All methods may be called from any thread; those that say so take long.
 * What fails throws an exception whose message begins with a code of the bindings.
 */
public final class P2PNode {
    /** What the node says, on a thread of its own; it may call any method here. */
    public interface Events {
        void happened(String kind, String json);

        void logged(String message);
    }

    /** What a network costs. */
    public enum Network {
        NONE(Mobile.NetNone), UNMETERED(Mobile.NetUnmetered), METERED(Mobile.NetMetered);

        private final long kind;

        Network(long kind) {
            this.kind = kind;
        }
    }

    private final Node node;

    /** Opens the directory, which can take a second or two. It touches no network. */
    public P2PNode(String directory, String task, String[] bootstrap, Events events) throws Exception {
        Config config = Mobile.newConfig(directory, task);
        config.setLogLevel(Mobile.LogWarn);
        for (String peer : bootstrap) config.addBootstrap(peer);
        node = Mobile.newNode(config, new Listener() {
            @Override
            public void onEvent(String kind, String json) {
                events.happened(kind, json);
            }

            @Override
            public void onLog(long level, String message) {
                events.logged(message);
            }
        });
    }

    /** Where the Go runtime writes what a crash leaves; once per process. */
    public static void setCrashFile(String path) throws Exception {
        Mobile.setCrashFile(path);
    }

    /** What the collector of the Go part should stay below. */
    public static void setMemoryLimit(int megabytes) throws Exception {
        Mobile.setMemoryLimit(megabytes);
    }

    public static String version() {
        return Mobile.version();
    }

    /** Whether an exception says that there is no room for more examples. */
    public static boolean isFull(Exception e) {
        return e.getMessage() != null && Mobile.errorCode(e.getMessage()).equals(Mobile.CodeFull);
    }

    public void start() throws Exception {
        node.start();
    }

    /** Up to ten seconds. */
    public void pause(String reason) throws Exception {
        node.pause(reason);
    }

    public void resume() throws Exception {
        node.resume();
    }

    /** One slice of work: as long as it says and about a second more. */
    public String train(int maxMillis) throws Exception {
        return node.train(maxMillis);
    }

    /** Up to a second. */
    public void trimMemory() throws Exception {
        node.trimMemory();
    }

    /** Up to fifteen seconds; afterwards this object is of no use. */
    public void leaveAndErase() throws Exception {
        node.leaveAndErase();
    }

    /** Erases a directory that cannot be opened. */
    public static void erase(String directory) throws Exception {
        Mobile.erase(directory);
    }

    /** The interfaces and the servers that resolve names, as JSON: Android tells only apps. */
    public void setNetwork(Network network, String interfacesJson, String dnsServersJson) throws Exception {
        node.setNetwork(network.kind, interfacesJson, dnsServersJson);
    }

    public void setPower(int batteryPercent, boolean charging, boolean saver) throws Exception {
        node.setPower(batteryPercent, charging, saver);
    }

    /** A multiaddress that ends in /p2p/ and the peer's ID. */
    public void addPeer(String address) throws Exception {
        node.addPeer(address);
    }

    /** Queues an example; label is the number of its class. */
    public void addExample(double[] features, int label) throws Exception {
        node.addExample(littleEndian(features), label);
    }

    /** The number of the likeliest class. */
    public int predict(double[] features) throws Exception {
        return (int) node.predict(littleEndian(features));
    }

    public String status() throws Exception {
        return node.statusJSON();
    }

    public String task() throws Exception {
        return node.taskJSON();
    }

    private static byte[] littleEndian(double[] values) {
        ByteBuffer bytes = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (double v : values) bytes.putDouble(v);
        return bytes.array();
    }
}
