import { FlowBook } from "../../../src/core/extras/limits/flow-book.ts";
import { limiter, loadLimits } from "../../../src/core/extras/limits/index.ts";
import { turn } from "../../../src/core/extras/turn/index.ts";
import type { Part } from "../pipeline-ports.ts";

// Time that a test moves does not wait for code.
await loadLimits();

/** Pauses, breakers, rates and permits. */
export const limits: Part = { follower: turn, ports: (ports) => ({ flow: new FlowBook(ports), limiter }) };
