import type { Clock, Page } from "../ports.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../record.ts";
import type { Status } from "../status.ts";
import { type FamilyReadPorts, pagesOf } from "./results.ts";

/** Pages of children that one answer reads: a filter that matches little makes short pages instead of long waits. */
const mostPages = 10;

/** One page of a task's children, in the order of their spawn. `next` is the position of the next child: `attempt.page.place`. */
export async function listChildren(
  ports: FamilyReadPorts & { clock: Clock },
  parent: TaskRecord,
  status: Status | undefined,
  { limit, from }: { limit: number; from: string | undefined },
): Promise<Page<TaskRecord>> {
  const now = ports.clock.now();
  const [firstAttempt = 1, firstPage = 0, firstPlace = 0] = from?.split(".").map(Number) ?? [];
  const items: TaskRecord[] = [];
  let pages = 0;
  for await (const { attempt, page, children } of pagesOf(ports, parent, { attempt: firstAttempt, page: firstPage })) {
    if (pages === mostPages) return { items, next: `${attempt}.${page}.0` };
    pages += 1;
    const isFirst = attempt === firstAttempt && page === firstPage;
    for (const child of children) {
      const place = child.family_place ?? 0;
      if (isFirst && place < firstPlace) continue;
      if (!isKept(child, now) || (status !== undefined && statusAt(child, iso(now)) !== status)) continue;
      if (items.length === limit) return { items, next: `${attempt}.${page}.${place}` };
      items.push(child);
    }
  }
  return { items, next: undefined };
}
