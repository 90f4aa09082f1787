package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.p2pnode.mobile.Listener;

/** A listener that keeps what it was told. */
class Recorder implements Listener {
    /** One event, and who brought it. */
    static final class Event {
        final String kind;
        final Object payload;
        final Thread thread = Thread.currentThread();

        Event(String kind, String payloadJSON) {
            this.kind = kind;
            payload = Json.parse(payloadJSON);
        }

        @Override
        public String toString() {
            return kind + payload;
        }
    }

    private final List<Event> events = new ArrayList<>();
    private final List<String> log = new ArrayList<>();

    @Override
    public synchronized void onEvent(String kind, String payloadJSON) throws Exception {
        events.add(new Event(kind, payloadJSON));
    }

    @Override
    public synchronized void onLog(long level, String message) throws Exception {
        log.add(level + " " + message);
    }

    synchronized List<Event> all() {
        return new ArrayList<>(events);
    }

    List<Event> of(String kind) {
        return all().stream().filter(e -> e.kind.equals(kind)).collect(Collectors.toList());
    }

    synchronized List<String> log() {
        return new ArrayList<>(log);
    }

    /** Waits for an event of a kind. */
    void await(String kind) throws Exception {
        Check.within(30, "an event " + kind + ", but " + this, () -> !of(kind).isEmpty());
    }

    /** Waits until an event of a kind has a value at a path. */
    void await(String kind, String path, Object value) throws Exception {
        Check.within(30, "an event " + kind + " with " + path + " = " + value + ", but " + this,
                () -> of(kind).stream().anyMatch(e -> value.equals(Json.at(e.payload, path))));
    }

    @Override
    public String toString() {
        return all().toString();
    }
}
