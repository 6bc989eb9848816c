import { notices as follower } from "../../../src/core/extras/notices/index.ts";
// Loaded before it is used: time that a test moves does not wait for code.
import "../../../src/core/extras/notices/notices.ts";
import type { Part } from "../pipeline-ports.ts";

/** Notices to subscribers: callbacks, receivers, events, channels. */
export const notices: Part = { follower };
