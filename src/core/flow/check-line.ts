import type { LineCheck } from "../model/envelope.ts";
import { lineOf } from "../model/line.ts";
import { againWhenUnavailable, type Verdict } from "../model/verdict.ts";
import type { Delivery } from "../ports/tasks.ts";
import { advance } from "./advance.ts";
import type { LinePorts } from "./line-ports.ts";

/** Goes on with the line that a message names. */
export function checkLine(ports: LinePorts, { tier }: Delivery, check: LineCheck): Promise<Verdict> {
  const line = lineOf(check.line);
  if (line === undefined) return Promise.resolve("done");
  const advanced = advance(ports, line, { tier, checkId: check.check_id });
  return advanced.then((): Verdict => "done", againWhenUnavailable);
}
