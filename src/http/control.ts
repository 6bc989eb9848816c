import * as z from "zod";
import { type AcknowledgePorts, acknowledge } from "../core/control/acknowledge.ts";
import { changeInput } from "../core/control/change-input.ts";
import { type ControlPorts, cancel, extend, retry } from "../core/control/control.ts";
import { checkGiven } from "../core/control/given-input.ts";
import { runNow } from "../core/control/run-now.ts";
import { type ViewPorts, viewTask } from "../core/end/view.ts";
import { expecting } from "../core/model/expected.ts";
import { parseInput } from "../core/model/invalid.ts";
import type { TaskRecord } from "../core/model/record.ts";
import type { EntryPorts } from "../core/send/keep-entries.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import { jsonBody, optionalJsonBody } from "./body.ts";
import { findTask } from "./find-task.ts";
import { pollHeaders } from "./status.ts";

/** Body of an extend. */
export const extendSchema = z.strictObject({ retention_seconds: z.int().min(60).max(2_592_000) });
/** Body of a retry. */
export const retrySchema = z.strictObject({ input: z.unknown().optional() });
/** Body of a change of a waiting task's input. */
export const inputSchema = z.strictObject({ input: z.unknown() }).refine((body) => Object.hasOwn(body, "input"), {
  path: ["input"],
  message: "expected the task's new input",
});
/** Body of a cancel. */
export const cancelSchema = z.strictObject({ now: z.boolean().default(false) });
/** Body of requests without input: an empty object. */
export const nothingSchema = z.strictObject({});

/** Reads the body of a request without input. */
export const readNothing = (call: Call) =>
  expecting(nothingSchema, async () => parseInput(nothingSchema, await optionalJsonBody(call)));

/** Handlers that change a submitted task: cancel, retry, run now, extend, acknowledge. */
export const taskChanges = (ports: ControlPorts & EntryPorts & AcknowledgePorts & ApiPorts) =>
  ({
    cancelTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const body = await expecting(cancelSchema, async () => parseInput(cancelSchema, await optionalJsonBody(call)));
      // The end of a process interrupts the attempts of other callers, too.
      if (body.now) identify(call, "operator");
      const cancelled = await cancel(ports, record, body);
      return changedTask(ports, call, cancelled, cancelled.status === "cancelled" ? 200 : 202);
    },
    retryTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const body = await expecting(retrySchema, async () => parseInput(retrySchema, await optionalJsonBody(call)));
      const given = Object.hasOwn(body, "input") ? checkGiven(ports.types, record, body.input) : undefined;
      await ports.countRequest?.(record.tenant_id);
      const retried = await retry(ports, record, given);
      return changedTask(ports, call, retried, 202);
    },
    changeTaskInput: async (call) => {
      const record = await findTask(ports, call, identify(call, "operator"));
      const read = async () => parseInput(inputSchema, await jsonBody(call));
      const { input } = await expecting(inputSchema, read);
      return changedTask(ports, call, await changeInput(ports, record, checkGiven(ports.types, record, input)), 200);
    },
    runTaskNow: async (call) => {
      const record = await findTask(ports, call, identify(call));
      await readNothing(call);
      return changedTask(ports, call, await runNow(ports, record), 202);
    },
    extendTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const read = async () => parseInput(extendSchema, await jsonBody(call));
      const { retention_seconds } = await expecting(extendSchema, read);
      return changedTask(ports, call, await extend(ports, record, retention_seconds), 200);
    },
    acknowledgeTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      await readNothing(call);
      await acknowledge(ports, record);
      return call.body(null, 204);
    },
  }) satisfies Partial<HandlersOf<"control">>;

/** Answers with the task after a change of it. */
export async function changedTask(
  ports: ViewPorts,
  call: Call,
  record: TaskRecord,
  status: 200 | 202,
): Promise<Response> {
  const view = await viewTask(ports, record);
  pollHeaders(ports, call, record);
  if (status === 202) call.header("content-location", `/tasks/${record.task_id}`);
  return call.json(view, status);
}
