import type { Notice } from "../ports/notice.ts";

const kinds: readonly string[] = ["end", "change", "try"] satisfies Notice["kind"][];

/**
 * Reads a message of the notify queue. Only Offload's functions can send to it, so this checks no more than the shape
 * that every notice has.
 * @throws Error for a text that is not a notice
 */
export function parseNotice(text: string): Notice {
  const notice = JSON.parse(text) as Partial<Notice> | null;
  const isOne =
    kinds.includes(notice?.kind ?? "") && typeof notice?.tenant_id === "string" && typeof notice.task_id === "string";
  if (!isOne) throw new Error("expected a notice");
  return notice as Notice;
}
