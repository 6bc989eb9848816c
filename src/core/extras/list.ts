import { extrasOf } from "../pipeline/send/extras.ts";
import type { Extras } from "../ports/extra.ts";
import type { StepStore } from "../ports/steps.ts";
import { collect, entries, history, input } from "./kept/index.ts";
import { notices } from "./notices/index.ts";
import { onFailed } from "./on-failed/index.ts";
import { turn } from "./turn/index.ts";
import { unique } from "./unique/index.ts";

/** The extras that follow tasks, in the order in which their hooks are called. */
export const followers = (steps: Pick<StepStore, "load" | "keep">): Extras =>
  extrasOf([unique, collect, history, input, entries(steps), notices, onFailed, turn]);
