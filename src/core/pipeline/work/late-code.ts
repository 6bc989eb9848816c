/*
 * The code of attempts and ends that is loaded with its first use. The clock of a test does not wait for code: a
 * program with a clock of its own loads it before, and that of its extras, `extras/late-code.ts`.
 */

import * as supersede from "../../control/cancel-others.ts";
import * as runs from "../../extras/children/runs.ts";
import * as spawner from "../../extras/children/spawner.ts";
import * as lateWaits from "../../extras/steps/late-waits.ts";
import * as sendNumbered from "../../extras/steps/send-numbered.ts";
import * as signalUrl from "../../extras/steps/signal-url.ts";
import * as tries from "../../extras/steps/tries.ts";
import * as readEnvelope from "../../model/read-envelope.ts";
import * as childResults from "../end/child-results.ts";
import * as closeFamily from "../end/close-family.ts";
import * as deadLetterCode from "../end/dead-letter.ts";
import * as keepForRound from "../end/keep-for-round.ts";
import * as requestOwnTask from "../end/request-own-task.ts";
import * as stopFamily from "../end/stop-family.ts";
import * as largeInput from "../send/large-input.ts";
import * as intake from "./intake.ts";
import * as onFailed from "./on-failed.ts";
import * as settleWaiting from "./settle-waiting.ts";

/** The modules as values: a user's bundler leaves out an import of which nothing is used. */
export const lateCode: readonly object[] = [
  ...[spawner, runs, deadLetterCode, childResults, closeFamily, keepForRound, stopFamily],
  ...[lateWaits, sendNumbered, signalUrl, tries],
  ...[requestOwnTask, largeInput, settleWaiting, onFailed],
  ...[supersede, intake, readEnvelope],
];
