import { parseArgs } from "node:util";
import { createClient, ProblemError } from "offload/client";
import type * as tasks from "./tasks/index.ts";

/* What the script and the webhook client have in common. */

export const connection = {
  url: process.env.OFFLOAD_URL ?? "http://127.0.0.1:3000",
  key: process.env.OFFLOAD_KEY ?? "dev-acme",
};

export const offload = createClient<typeof tasks>(connection);

const options = {
  region: { type: "string", default: "north" },
  first: { type: "string", default: "2025-07" },
  months: { type: "string", default: "12" },
  seconds: { type: "string", default: "10" },
  out: { type: "string", default: "report.csv" },
} as const;

const { region, first, months, seconds, out } = parseArgs({ options }).values;

/** The report that the command line asks for. Offload checks it, so the region is passed on as it is. */
export const report = {
  region: region as "north",
  firstMonth: first,
  months: Number(months),
  seconds: Number(seconds),
};

/** File for the report. */
export { out };

/** Ends the program with what Offload says is wrong. */
export function refused(error: unknown): never {
  if (!(error instanceof ProblemError)) throw error;
  console.error(`${error.code}: ${error.detail}`);
  for (const { path, message } of error.errors ?? []) console.error(`  ${path}: ${message}`);
  process.exit(1);
}
