import * as z from "zod";
import { cancelOperation, changeRate } from "../../core/control/change-operation.ts";
import type { ControlPorts } from "../../core/control/control.ts";
import { on, type TextsOf } from "./act.ts";
import { type FindPorts, type FoundOperation, ofOperators, operationIn, shownOperation } from "./operation.ts";

/* Acts on an operation that runs: a replay, discard, cancel, retry or run-now of many tasks. */

type Ports = ControlPorts & FindPorts;

export const acts = () => ({
  cancelOperation: on<Ports, FoundOperation>({ ...ofOperators, find: operationIn })({
    run: async (ports, operation, _, asked) => {
      await cancelOperation(ports, operation.record, asked.correlationId);
      const now = await operationIn(ports, asked, "consistently");
      const { headers, ...answer } = shownOperation(ports, now);
      const place = { "content-location": `/operations/${now.view.operation_id}` };
      return { ...answer, status: 202, headers: { ...headers, ...place } };
    },
  }),
  changeOperation: on<Ports, FoundOperation>({
    ...ofOperators,
    find: (ports, asked) => operationIn(ports, asked, "consistently"),
  })({
    body: z.strictObject({ per_second: z.int().min(1).max(100) }),
    run: async (ports, operation, { per_second: rate }) => {
      await changeRate(ports, operation.record, rate);
      return shownOperation(ports, operation);
    },
  }),
});

export const texts: TextsOf<ReturnType<typeof acts>> = {
  cancelOperation: {
    route: "POST /operations/{operation_id}/cancel",
    summary: "Cancel an operation",
    description:
      "Within 5 seconds, a replay, discard, cancel, retry or run-now takes no further task. Tasks that it has changed stay changed and counted. The request can be repeated.",
    answers: {
      202: [
        "Operation",
        "The operation: `cancelled`, or `processing` until its attempt has stopped.",
        ["Cache-Control", "Content-Location"],
        ["Retry-After"],
      ],
    },
    problems: ["conflict"],
  },
  changeOperation: {
    route: "PATCH /operations/{operation_id}",
    notes: ["body"],
    summary: "Change the rate of an operation",
    description:
      "Changes the rate of a replay, retry or run-now that has not ended. The operation continues at this rate, and does not become faster by itself any more. It still stops when the last 20 tasks that it started have all failed again.",
    body: "ChangeOperation",
    fields: { per_second: "Maximum number of tasks per second from now on." },
    example: { per_second: 2 },
    answers: { 200: ["Operation", "The operation.", ["Cache-Control"], ["Retry-After"]] },
    problems: ["conflict"],
  },
};
