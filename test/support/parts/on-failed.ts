import { onFailed as follower } from "../../../src/core/extras/on-failed/index.ts";
// Loaded before it is used: time that a test moves does not wait for code.
import "../../../src/core/extras/on-failed/start.ts";
import "../../../src/core/pipeline/end/on-failed-of.ts";
import type { Part } from "../pipeline-ports.ts";

/** The task that runs a type's `onFailed`. */
export const onFailed: Part = { follower };
