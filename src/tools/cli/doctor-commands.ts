import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { readAssembly, synthesizeApp } from "../../../lib/assembly.ts";
import { keptWorkersVariable } from "../../../lib/kept-workers.ts";
import { type Account, liveAccount, liveClients } from "../../aws/live-account.ts";
import { reviewedApp } from "../../code/describe/load-app.ts";
import { tasksFolder } from "../../code/project/task-folder.ts";
import { Deployment, type Stack } from "../doctor/deployment.ts";
import { type Failure, isAtLeast, type Severity, severities } from "../doctor/finding.ts";
import { linkedRolesOf, pipelineNamesOf, withProbes } from "../doctor/pipeline.ts";
import { reviewText } from "../doctor/report.ts";
import { checks, hasPipeline, type Review, review, worstOf } from "../doctor/review.ts";
import { type Connection, clientOf, connection, context, take } from "./connection.ts";
import type { Register } from "./group.ts";
import type { Options } from "./options.ts";
import { CommandFailed, plain, type Terminal, UsageError } from "./terminal.ts";

/** Exit code for the severity of the worst finding, when it reaches `--fail-on`. */
const exitCodes: Readonly<Record<Severity, number>> = { low: 10, medium: 11, high: 12, critical: 13 };

const help = `
Checks the app's CloudFormation templates and the task types in tasks/. --live also
checks the deployed resources, in the account and region of the AWS environment variables; it only reads. --failures
checks only dead letters, by the API, and says what to do about each kind of error. \`cdk synth\` shows the
same findings as warnings, from severity medium on.

Exit codes:
  0   no finding reaches the severity of --fail-on
  1   the checks could not run, or --live could not read the account
  2   the command line is invalid
  10, 11, 12, 13   the worst finding is low, medium, high or critical, and reaches --fail-on

Examples:
  npx offload doctor
  npx offload doctor -c stage=prod -c alarmEmail=team@example.com --live
  npx offload doctor --templates cdk.out --fail-on medium --json
`;

const given = [
  ...connection,
  [
    "--templates <folder>",
    "check this cloud assembly, such as cdk.out; default: synthesize the app, without bundling its code",
  ],
  ["-c, --context <name=value>", "CDK context of the synthesis, such as stage=prod; repeatable", context],
  ["--live", "also check the deployed resources, with your AWS credentials"],
  ["--failures", "check only the newest 1,000 dead letters of your tenant, by the API"],
  [
    "--fail-on <severity>",
    "lowest severity that makes the exit code non-zero",
    { among: [...severities, "never"], initial: "high" },
  ],
  ["--skip <check>", "skip this check; repeatable", checkId],
] as const;

type DoctorOptions = Options<typeof given>;

/** `offload doctor` */
export const register: Register = (group) => {
  const { terminal } = group;
  group.help(help).does(given, async (options) => {
    if (options.failures === true) return reviewFailures(terminal, options);
    const { stacks, note } = await stacksOf(options);
    const deployment = new Deployment(stacks);
    if (!hasPipeline(deployment)) throw new CommandFailed("these stacks contain no Offload pipeline");
    const { types, findings } = await reviewedApp(tasksFolder(), withProbes(deployment));
    const live = options.live === true ? await readAccount(deployment) : liveNotChecked;
    const found = review({ deployment, types, findings, ...live.found }, options.skip);
    show(terminal, found, [...(note === undefined ? [] : [note]), ...live.notes], options);
    const code = exitCodeOf(found, options.failOn);
    return code === 0 && live.failed === true ? 1 : code;
  });
};

/** Checks only the dead letters. That needs no app that synthesizes. */
async function reviewFailures(terminal: Terminal, options: DoctorOptions): Promise<number> {
  const failures = await readFailures(options);
  const others = checks.filter(({ needs }) => needs !== "failures").map(({ id }) => id);
  const found = review({ deployment: new Deployment([]), types: [], findings: {}, failures }, others);
  show(terminal, { ...found, leftOut: [] }, [`Checked ${failures.length} dead letters, and nothing else.`], options);
  return exitCodeOf(found, options.failOn);
}

/** Number of dead letters that are checked, the newest first. */
const checkedFailures = 1_000;

const readFailures = async (connection: Connection): Promise<readonly Failure[]> =>
  (await take(clientOf(connection).deadLetters.list(), checkedFailures)).items;

function checkId(id: string, before: string[] = []): string[] {
  if (checks.some((known) => known.id === id)) return [...before, id];
  throw new InvalidArgumentError(`Expected one of ${checks.map((known) => known.id).join(", ")}.`);
}

/** Stacks to check, and a note about their origin. */
async function stacksOf({
  templates,
  context: given = {},
}: DoctorOptions): Promise<{ stacks: Stack[]; note?: string }> {
  if (templates !== undefined) {
    if (Object.keys(given).length > 0)
      throw new UsageError("--context has no effect with --templates: give only one of them");
    return { stacks: readAssembly(templates) };
  }
  const folder = mkdtempSync(join(tmpdir(), "offload-doctor-"));
  try {
    const [assembly, workers] = ["assembly", "workers"].map((name) => join(folder, name)) as [string, string];
    mkdirSync(workers);
    const accepted = await synthesizeApp(assembly, given, { [keptWorkersVariable]: workers });
    const stacks = readAssembly(assembly);
    return accepted
      ? { stacks }
      : { stacks, note: "The app's own checks reject it: run `npm run synth` for the reason." };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Result of reading the account, and a note about it. */
interface LiveResult {
  found: { live?: Account };
  notes: readonly string[];
  /** True when `--live` was given and the account could not be read. */
  failed?: boolean;
}

const liveNotChecked: LiveResult = {
  found: {},
  notes: ["The deployed resources were not checked: use --live, with AWS credentials."],
};

/** Reads the account. An error becomes a note, because the templates can be checked without an account. */
async function readAccount(deployment: Deployment): Promise<LiveResult> {
  try {
    const roles = linkedRolesOf(deployment).map(({ name }) => name);
    const live = await liveAccount(liveClients(), pipelineNamesOf(deployment), roles);
    const missing = `Not deployed in this account and region: ${live.missing.join(", ")}.`;
    return {
      found: { live },
      notes: [
        ...(live.missing.length > 0 ? [missing] : []),
        ...live.reconciles.flatMap(reconcileText),
        ...live.roles.flatMap(roleText),
      ],
    };
  } catch (error) {
    const why = plain(error instanceof Error ? error.message : error);
    return { found: {}, failed: true, notes: [`The deployed resources were not checked: ${why}`] };
  }
}

/** Says why a role could not be read. */
const roleText = ({ name, unread }: Account["roles"][number]): string[] =>
  unread === undefined ? [] : [`The role ${name} could not be looked for: ${plain(unread)}`];

/** Says what the last look for open tasks that nothing wakes has found. */
function reconcileText({ stack, last, unread }: Account["reconciles"][number]): string[] {
  const look = `${stack}: the last look for tasks that nothing wakes`;
  if (unread !== undefined) return [`${look} could not be read: ${plain(unread)}`];
  if (last === undefined) return [];
  const { at, whole, open, sent, ended, left } = last;
  const part = whole ? "" : ", in a part of the table";
  return [`${look}, at ${at}: ${open} open${part}, ${sent} sent again, ${ended} ended, ${left} left alone.`];
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
