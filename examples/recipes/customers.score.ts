import { defineTask } from "offload";
import * as z from "zod";

const pageSchema = z.object({
  rows: z.array(z.object({ id: z.string(), orders: z.int() })),
  next: z.string().nullable(),
});

/** Sets scores. A second call with the same page sets the same scores, so a page may be written twice. */
async function write(rows: z.output<typeof pageSchema>["rows"], signal: AbortSignal): Promise<void> {
  const scores = rows.map(({ id, orders }) => ({ id, score: Math.min(100, orders * 5) }));
  const body = JSON.stringify(scores);
  const response = await fetch(`${process.env.CRM_URL}/scores`, { method: "PUT", body, signal });
  if (!response.ok) throw response;
}

export default defineTask({
  name: "customers.score",
  description: "Computes the score of each customer, 1,000 customers at a time.",
  input: z.strictObject({ source: z.url() }),
  state: z.strictObject({ cursor: z.string().nullable(), rows: z.int() }),
  timeoutSeconds: 600,
  maxAttempts: 20,
  handler: async ({ source }, task) => {
    // The cursor of the next page. Null: all pages are written.
    let { cursor, rows } = task.state ?? { cursor: "", rows: 0 };
    while (cursor !== null) {
      const response = await fetch(`${source}?limit=1000&after=${encodeURIComponent(cursor)}`, { signal: task.signal });
      if (!response.ok) throw response;
      const page = pageSchema.parse(await response.json());
      await write(page.rows, task.signal);
      cursor = page.next;
      rows += page.rows.length;
      await task.checkpoint({ cursor, rows });
      if (cursor !== null && task.remainingMs() < 60_000) await task.continueLater();
    }
    return { rows };
  },
});
