import type { Part } from "../pipeline-ports.ts";
import { children } from "./children.ts";
import { limits } from "./limits.ts";
import { notices } from "./notices.ts";
import { onFailed } from "./on-failed.ts";
import { operations } from "./operations.ts";
import { rescue } from "./rescue.ts";
import { schedules } from "./schedules.ts";
import { unique } from "./unique.ts";

/** All parts, for tests of what a whole deployment does. */
export const allParts: readonly Part[] = [unique, limits, children, operations, notices, onFailed, schedules, rescue];
