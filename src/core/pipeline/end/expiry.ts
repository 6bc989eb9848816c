import type { Change } from "../../model/change.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { Clock } from "../../ports/tasks.ts";
import { retention, sameRetention } from "../send/retention.ts";

/** The change that ends a task which did not start before `start_by`. */
export function expiryOf(ports: { clock: Clock }, record: TaskRecord): Change {
  const now = iso(ports.clock.now());
  return {
    when: { status: { is: "pending" }, attempts_total: { is: 0 }, start_by: { atMost: now }, ...sameRetention(record) },
    set: { status: "expired", updated_at: now, finished_at: now, ...retention(ports, record) },
    remove: ["kept_input"],
  };
}
