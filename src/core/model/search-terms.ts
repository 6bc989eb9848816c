import type { TaskRecord } from "./record.ts";

/**
 * Terms are kept for at least this time after their task was created, in seconds. A search finds older tasks, whose
 * retention was extended again and again, as those without terms.
 */
export const termSeconds = 365 * 86_400;

/**
 * Texts by which a search finds a task at once: the values of its tags, and its correlation id if the client has given
 * it. In lower case, each once. A task without them costs nothing more. They never change.
 */
export function searchTerms({ tags = {}, correlation_id, correlation_given }: TaskRecord): string[] {
  const terms = [...Object.values(tags), ...(correlation_given === true ? [correlation_id] : [])];
  return [...new Set(terms.filter((term) => term !== "").map((term) => term.toLowerCase()))];
}
