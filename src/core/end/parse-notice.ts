import { WrittenLater } from "../model/errors.ts";
import type { Notice } from "../ports/notice.ts";

const kinds: readonly string[] = ["end", "change", "try", "key_revoked"] satisfies Notice["kind"][];

/** Id of what a notice is about. */
const subjectOf = (notice: Notice): string => (notice.kind === "key_revoked" ? notice.key_id : notice.task_id);

/**
 * Reads a message of the notify queue. Only Offload's functions can send to it, so this checks no more than the shape
 * that every notice has.
 * @throws WrittenLater for a kind that only a later release knows; Error for a text that is not a notice
 */
export function parseNotice(text: string): Notice {
  const notice = JSON.parse(text) as Notice | null;
  if (typeof notice?.kind === "string" && !kinds.includes(notice.kind)) throw new WrittenLater("a kind of notice");
  const isOne =
    notice !== null &&
    kinds.includes(notice.kind) &&
    typeof notice.tenant_id === "string" &&
    typeof subjectOf(notice) === "string";
  if (!isOne) throw new Error("expected a notice");
  return notice;
}
