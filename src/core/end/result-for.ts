import { endId } from "../model/end-id.ts";
import type { Families } from "../ports/family.ts";
import type { EndNotice } from "../ports/notice.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import { viewTask } from "./view.ts";

/**
 * The result of a task that has ended, if the status answer has it: JSON of at most 64 KiB. Undefined: there is none,
 * it is larger or encrypted, or it was deleted since.
 */
export async function resultFor(
  ports: { records: Records; families: Families; clock: Clock },
  notice: EndNotice,
): Promise<unknown> {
  const record = await ports.records.get(notice);
  if (record?.status !== "completed" || endId(record) !== notice.id) return undefined;
  const { result } = await viewTask(ports, record);
  return result ?? undefined;
}
