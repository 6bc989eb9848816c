import type { LineCheck } from "../../model/envelope.ts";
import { lineOf } from "../../model/line.ts";
import { againWhenUnavailable, type Verdict } from "../../model/verdict.ts";
import type { Delivery } from "../../ports/tasks.ts";
import { advance } from "./advance.ts";
import { type SuccessorPorts, succeed, successorIn } from "./successor.ts";

/**
 * Goes on with the line that a message names. A worker of a tier that is behind takes the next task of a rate itself;
 * places are free at the same time, so their tasks go by message.
 */
export function checkLine(ports: SuccessorPorts, delivery: Delivery, check: LineCheck): Promise<Verdict> {
  const { tier } = delivery;
  const coming = successorIn(check);
  if (coming !== undefined) {
    // The other messages of its batch do not wait for it.
    ports.taker?.succeeds(succeed(ports, delivery, coming));
    return Promise.resolve("done");
  }
  const line = lineOf(check.line);
  if (line === undefined) return Promise.resolve("done");
  const { taker } = ports;
  const working = { ...ports, taker: line.kind === "rate" ? taker : undefined };
  const advanced = advance(working, line, { tier, checkId: check.check_id });
  return advanced.then((): Verdict => "done", againWhenUnavailable);
}
