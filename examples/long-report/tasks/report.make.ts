import { Readable } from "node:stream";
import { defineTask, file, withOutcome } from "offload";
import * as z from "zod";
import { csvOf, type MonthTotal, monthsFrom, regions, totalOf } from "./lib/sales.ts";

/** Stores a report on the server. A second call with the same report changes nothing. */
async function publish(id: string, report: object, signal: AbortSignal): Promise<string> {
  const url = new URL(`/reports/${id}`, process.env.REPORTS_URL).href;
  const response = await fetch(url, {
    method: "PUT",
    headers: { authorization: `Bearer ${process.env.REPORTS_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(report),
    signal,
  });
  if (!response.ok) throw response;
  return url;
}

function outcomeOf(totals: readonly MonthTotal[]): "COMPLETE" | "PARTIAL" | "NO_DATA" {
  const missing = totals.filter(({ orders }) => orders === 0).length;
  if (missing === 0) return "COMPLETE";
  return missing < totals.length ? "PARTIAL" : "NO_DATA";
}

export default defineTask({
  name: "report.make",
  description: "Makes the sales report of a region, as a CSV file or as a page of the server.",
  // Without refinements: then each fault is a 422 of the submit. So a period is its first month and a number of months.
  input: z.strictObject({
    region: z.enum(regions),
    firstMonth: z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/),
    months: z.int().min(1).max(24),
    format: z.enum(["csv", "page"]).default("csv"),
    /** How long the warehouse takes in all, to try out long reports. */
    seconds: z.int().min(0).max(600).default(10),
  }),
  timeoutSeconds: 840,
  handler: async ({ region, firstMonth, months, format, seconds }, task) => {
    const totals: MonthTotal[] = [];
    for (const month of monthsFrom(firstMonth, months)) {
      // A later attempt resumes after the last month that is stored.
      const total = await task.step(month, () => {
        task.log.info("month added up", { month });
        return totalOf(region, month, (1000 * seconds) / months, task.signal);
      });
      totals.push(total);
      task.progress((95 * totals.length) / months);
    }
    const outcome = outcomeOf(totals);
    if (outcome === "NO_DATA") return withOutcome(outcome, null);
    if (format === "page") {
      const location = await publish(task.taskId, { region, outcome, totals }, task.signal);
      return withOutcome(outcome, { totals }, { location });
    }
    const csv = Readable.from(csvOf(region, totals));
    return withOutcome(outcome, file(csv, { contentType: "text/csv", fileName: `${region}-${firstMonth}.csv` }));
  },
});
