import { childPages, type FamilyReadPorts } from "../end/child-results.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import type { Status } from "../model/status.ts";
import type { Clock, Page } from "../ports/tasks.ts";

/** Pages of children that one answer reads: a filter that matches little makes short pages instead of long waits. */
const mostPages = 10;

/**
 * One page of a task's children, in the order of their spawn. `next` is the position of the next child: `page.place`.
 */
export async function listChildren(
  ports: FamilyReadPorts & { clock: Clock },
  parent: TaskRecord,
  status: Status | undefined,
  { limit, from }: { limit: number; from: string | undefined },
): Promise<Page<TaskRecord>> {
  const now = ports.clock.now();
  const [firstPage = 0, firstPlace = 0] = from?.split(".").map(Number) ?? [];
  const matches = (child: TaskRecord): boolean =>
    isKept(child, now) && (status === undefined || statusAt(child, iso(now)) === status);
  const items: TaskRecord[] = [];
  let pages = 0;
  for await (const { page, children } of childPages(ports, parent, firstPage)) {
    if (pages === mostPages) return { items, next: `${page}.0` };
    const first = page === firstPage ? firstPlace : 0;
    pages += 1;
    const found = children.filter((child) => (child.family_place ?? 0) >= first && matches(child));
    const next = found[limit - items.length];
    items.push(...found.slice(0, limit - items.length));
    if (next !== undefined) return { items, next: `${page}.${next.family_place ?? 0}` };
  }
  return { items, next: undefined };
}
