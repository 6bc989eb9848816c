import type { LineCheck } from "../envelope.ts";
import type { Delivery } from "../ports.ts";
import { againWhenUnavailable, type Verdict } from "../verdict.ts";
import { advance, type LinePorts } from "./advance.ts";
import { lineOf } from "./line.ts";

/** Goes on with the line that a message names. */
export function checkLine(ports: LinePorts, { tier }: Delivery, check: LineCheck): Promise<Verdict> {
  const line = lineOf(check.line);
  if (line === undefined) return Promise.resolve("done");
  const advanced = advance(ports, line, { tier, checkId: check.check_id });
  return advanced.then((): Verdict => "done", againWhenUnavailable);
}
