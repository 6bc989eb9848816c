import { defineTask, InvalidInput, PermanentError } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

const Email = z.union([z.email(), z.literal("")]);

const rowsOf = (csv: string) => {
  const [head = "", ...lines] = csv.trim().split("\n");
  const names = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((cell, i) => [names[i] ?? "", cell])));
};

export default defineTask({
  name: "template.send_all",
  input: z.strictObject({ userId: z.string(), templateId: z.string(), csv: z.string(), send: z.boolean() }),
  timeoutSeconds: 600,
  handler: async ({ userId, templateId, csv, send }, task) => {
    const template = await call<{ recipients: number } | null>("db/template", { templateId });
    if (template === null) throw new PermanentError("template not found");
    const rows = rowsOf(csv);
    if (rows.length === 0 || rows.length > 100) throw new InvalidInput("expected 1 to 100 rows");
    const columns = Array.from({ length: template.recipients }, (_, i) => `recipient_${i + 1}_email`);
    const missing = columns.find((column) => !(column in (rows[0] ?? {})));
    if (missing !== undefined) throw new InvalidInput(`missing column ${missing}`);
    const errors: string[] = [];
    for (const [i, row] of rows.entries()) {
      try {
        for (const column of columns) Email.parse(row[column]);
        const { id } = await task.step(`create ${i}`, { maxAttempts: 3 }, (key) =>
          call("documents/create", { templateId, row }, key),
        );
        if (send) await task.step(`send ${i}`, { maxAttempts: 3 }, (key) => call("documents/send", { id }, key));
      } catch (error) {
        errors.push(`row ${i + 1}: ${error instanceof z.ZodError ? "invalid email" : String(error)}`);
      }
    }
    const report = { total: rows.length, failed: errors.length, errors };
    await task.step("mail", (key) => call("mail/send", { to: userId, ...report }, key));
    return report;
  },
});
