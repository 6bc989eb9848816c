import { withoutSecrets } from "../../../core/model/keys.ts";
import { plain } from "../terminal.ts";
import type { Outcome } from "./check.ts";

/** Facts of a run for the report. */
export interface Run {
  readonly date: string;
  readonly stage: string;
  readonly version: string;
  readonly region: string | undefined;
  /** The account is an emulator's. */
  readonly isEmulated: boolean;
  readonly minutes: number;
  readonly tasks: number;
  readonly price: string;
  readonly options: readonly string[];
  readonly outcomes: readonly Outcome[];
  /** Leftovers that could not be cleaned up. */
  readonly left: string | undefined;
  /** Only with `--show-account`: URL and account. */
  readonly place: string | undefined;
}

/** Promises that the command does not check at all, with the reason. */
const leftOut = ["Prices: AWS shows them a day later. The run's price is calculated from list prices."];

/**
 * The report of a run, in Markdown. It has no secret; numbers of accounts and hosts of APIs are left out, unless asked
 * for.
 */
export function reportOf(run: Run): string {
  const { outcomes, place, isEmulated } = run;
  const count = (verdict: Outcome["verdict"]) => outcomes.filter((one) => one.verdict === verdict).length;
  const facts = [
    ["date", run.date],
    ["stage", run.stage],
    ["version", `${run.version} (deployed)`],
    ["Region", run.region ?? "not known"],
    [
      "account",
      isEmulated
        ? "emulated, which lacks alarms, logs of Lambda and dead letters of schedules: npx offload docs emulator"
        : "AWS or none",
    ],
    ["place", place ?? "left out; `--show-account` writes it"],
    ["options", run.options.join(" ") || "none"],
    ["took", `${run.minutes} minutes, ${run.tasks} tasks, about ${run.price}`],
    ["checks", `${count("ok")} ok, ${count("differs")} differ, ${count("not possible here")} not possible here`],
  ];
  const text = [
    `# Offload, verified: ${run.stage}, ${run.date.slice(0, 10)}`,
    tableOf(["", ""], facts),
    "## Checks",
    tableOf(
      ["check", "expected", "seen", "verdict"],
      outcomes.map(({ name, expected, seen, verdict }) => [name, expected, seen, verdict]),
    ),
    "## Not checked",
    leftOut.map((line) => `- ${line}`).join("\n"),
    "## What stays",
    run.left ??
      "Records of the tasks, for ten minutes after their end; lines in the logs; an upload of 1 KB, for a day.",
    "",
  ].join("\n\n");
  return place === undefined ? withoutPlaces(text) : withoutSecrets(text);
}

/** A text without secrets, numbers of accounts, and hosts of APIs. */
const withoutPlaces = (text: string): string =>
  withoutSecrets(text)
    .replaceAll(/\b\d{12}\b/g, "<account>")
    .replaceAll(/\b[a-z0-9]{10}(?=\.execute-api\.)/g, "<api>");

function tableOf(head: readonly string[], rows: readonly (readonly (string | undefined)[])[]): string {
  const line = (cells: readonly (string | undefined)[]) =>
    `| ${cells.map((cell) => plain(cell).replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
