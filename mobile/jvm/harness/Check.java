package harness;

import java.util.concurrent.Callable;
import org.p2pnode.mobile.Mobile;

/** What must hold. */
final class Check {
    private Check() {}

    /** A call that may fail. */
    interface Call {
        void run() throws Exception;
    }

    static void that(boolean holds, String format, Object... args) {
        if (!holds) {
            throw new AssertionError(String.format(format, args));
        }
    }

    static void same(Object want, Object got, String what) {
        that(want.equals(got), "%s: got %s, want %s", what, got, want);
    }

    /** The call must fail with a code; its message is returned. */
    static String fails(String code, String what, Call call) {
        try {
            call.run();
        } catch (Exception e) {
            same(code, Mobile.errorCode(e.getMessage()), what + " failed with: " + e.getMessage());
            that(e.getMessage().length() > code.length() + 2, "%s: the error says nothing: %s", what, e.getMessage());
            return e.getMessage();
        }
        throw new AssertionError(what + ": no error, want " + code);
    }

    /** The condition must come true, and at most so many seconds later. */
    static void within(int seconds, String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + seconds * 1_000_000_000L;
        while (!condition.call()) {
            that(System.nanoTime() < deadline, "after %d s still not: %s", seconds, what);
            Thread.sleep(20); // between two looks
        }
    }
}
