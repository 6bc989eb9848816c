/*
 * The code of attempts and ends that is loaded with its first use. The clock of a test does not wait for code: a
 * program with a clock of its own loads it before.
 */
import "../children/spawner.ts";
import "../end/bury.ts";
import "../end/child-results.ts";
import "../end/close-family.ts";
import "../end/keep-for-round.ts";
import "../end/request-cancel-children.ts";
import "../extras/notices/notices.ts";
import "./settle-waiting.ts";
