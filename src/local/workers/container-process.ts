import { flushCompileCache } from "node:module";
import { sourceStackOf } from "../../code/project/source-places.ts";
import { type Role, roleVariable } from "../../work/messages.ts";
import { runProcess } from "../../work/work-process.ts";
import { useRole } from "../s3/roles.ts";
import { followParent } from "../time/follow-parent.ts";
import { localCode } from "./local-code.ts";
import { watchdogOfMachine } from "./watchdog-of-machine.ts";

/*
 * A process of a container worker that runs from the project's task files: of the local server, and of `offload work`.
 */

const orders = followParent(process.env);

const { OFFLOAD_TRACING: tracing, OFFLOAD_SPANS_FILE: spansFile } = process.env;
if (tracing === "1" && spansFile !== undefined) (await import("../traces/spans.ts")).keepSpans(spansFile);

// It often ends by a signal: where Node keeps compiled code, this one's is kept now.
flushCompileCache();
useRole("worker");
const role: Role = process.env[roleVariable] === "alone" ? "alone" : "all";
const running = runProcess(role, await localCode(), { stackOf: sourceStackOf, watchdog: watchdogOfMachine() });
orders.passOn();
await running;
