package harness;

import java.nio.file.Path;

/** What an app does with the bindings, and what has to come of it. */
interface Scenario {
    void run(Path dir) throws Exception;
}
