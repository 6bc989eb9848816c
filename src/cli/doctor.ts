import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { readAssembly, synthesizeApp } from "../../lib/assembly.ts";
import { type Account, liveAccount, liveClients } from "../aws/live-account.ts";
import { acceptedTypes } from "../core/task.ts";
import { Deployment, type Stack } from "../doctor/deployment.ts";
import { isAtLeast, type Severity, severities } from "../doctor/finding.ts";
import { pipelineNamesOf, withProbes } from "../doctor/pipeline.ts";
import { reviewText } from "../doctor/report.ts";
import { checks, hasPipeline, type Review, review, worstOf } from "../doctor/review.ts";
import { taskTypes } from "../task-files.ts";
import type { Register } from "./register.ts";
import { Failure, Misuse, plain, type Terminal } from "./terminal.ts";

/** What the process ends with when the worst finding is of a severity, and `--fail-on` counts it. */
const exitCodes: Readonly<Record<Severity, number>> = { low: 10, medium: 11, high: 12, critical: 13 };

const help = `
Reviews the app's templates and the task types in tasks/; docs/doctor.md lists every check. --live also looks at what is deployed, in the account and region that AWS's own variables say; it only reads. \`cdk synth\` shows the same findings, of severity
medium and above, as warnings.

Exit codes:
  0   no finding is as bad as --fail-on
  1   the review could not be made, or not --live
  2   the command was not understood
  10, 11, 12, 13   the worst finding is low, medium, high, critical, and as bad as --fail-on

Examples:
  npx offload doctor
  npx offload doctor -c stage=prod -c alarmEmail=team@example.com --live
  npx offload doctor --templates cdk.out --fail-on medium --json
`;

interface DoctorOptions {
  templates?: string;
  context?: Record<string, string>;
  live?: boolean;
  failOn: Severity | "never";
  skip?: string[];
  json?: boolean;
}

/** `offload doctor` */
export const register: Register = (command, terminal, exit) => {
  withOptions(command).action(async (options: DoctorOptions) => {
    const { stacks, note } = await stacksOf(options);
    const deployment = new Deployment(stacks);
    if (!hasPipeline(deployment)) throw new Failure("there is no pipeline of Offload in these stacks");
    const types = acceptedTypes(await taskTypes(), withProbes(deployment));
    const look = options.live === true ? await lookAt(deployment) : notLooked;
    const found = review({ deployment, types, ...look.found }, options.skip);
    show(
      terminal,
      found,
      [note, look.note].filter((one) => one !== undefined),
      options,
    );
    const code = exitCodeOf(found, options.failOn);
    exit(code === 0 && look.failed === true ? 1 : code);
  });
};

const withOptions = (command: Command): Command =>
  command
    .option(
      "--templates <folder>",
      "review a cloud assembly, as cdk.out; default: synthesizes the app, without bundles",
    )
    .option("-c, --context <name=value>", "context of the synthesis, as stage=prod; repeatable", context)
    .option("--live", "also look at the account, with your AWS credentials")
    .addOption(
      new Option("--fail-on <severity>", "the least severity that makes the exit code")
        .choices([...severities, "never"])
        .default("high"),
    )
    .option("--skip <check>", "leave out a check; repeatable", check)
    .option("--json", "print JSON")
    .addHelpText("after", help);

function context(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Expected name=value.");
  return { ...before, [name]: value };
}

function check(id: string, before: string[] = []): string[] {
  if (checks.some((known) => known.id === id)) return [...before, id];
  throw new InvalidArgumentError(`Expected one of ${checks.map((known) => known.id).join(", ")}.`);
}

/** Stacks to review, and what is to be said about where they come from. */
interface Given {
  stacks: Stack[];
  note?: string;
}

async function stacksOf({ templates, context: given = {} }: DoctorOptions): Promise<Given> {
  if (templates !== undefined) {
    if (Object.keys(given).length > 0) throw new Misuse("--context has no effect on --templates: give one of them");
    return { stacks: readAssembly(templates) };
  }
  const folder = mkdtempSync(join(tmpdir(), "offload-doctor-"));
  try {
    const taken = await synthesizeApp(folder, given);
    const stacks = readAssembly(folder);
    return taken ? { stacks } : { stacks, note: "The app's own checks refuse it: `npm run synth` says why." };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the account said, and what is to be said about that. */
interface Look {
  found: { live?: Account };
  note?: string;
  /** Whether it was asked for in vain. */
  failed?: boolean;
}

const notLooked: Look = { found: {}, note: "The live account was left out: --live looks at it, with AWS credentials." };

/** Nobody needs an account to have an app reviewed: what stands against a look at it is said in one line. */
async function lookAt(deployment: Deployment): Promise<Look> {
  try {
    const live = await liveAccount(liveClients(), pipelineNamesOf(deployment));
    const note = `Not deployed in this account and region: ${live.missing.join(", ")}.`;
    return live.missing.length > 0 ? { found: { live }, note } : { found: { live } };
  } catch (error) {
    const why = plain(error instanceof Error ? error.message : error);
    return { found: {}, failed: true, note: `The live account was left out: ${why}` };
  }
}

function show(terminal: Terminal, found: Review, notes: readonly string[], { json }: DoctorOptions): void {
  if (json === true) {
    terminal.out(JSON.stringify({ ...found, notes }, null, 2));
    return;
  }
  const findings = found.findings.map((one) => ({ ...one, subject: plain(one.subject), found: plain(one.found) }));
  terminal.out(reviewText({ ...found, findings }));
  for (const note of notes) terminal.note(note);
}

function exitCodeOf(found: Review, failOn: Severity | "never"): number {
  const worst = worstOf(found);
  return worst === undefined || failOn === "never" || !isAtLeast(worst, failOn) ? 0 : exitCodes[worst];
}
