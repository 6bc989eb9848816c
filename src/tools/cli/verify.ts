import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError } from "commander";
import type { VerifiedAccount } from "../../aws/verified/verified-account.ts";
import { Admin } from "../../client/index.ts";
import { Transport } from "../../client/transport.ts";
import { tasksFolder } from "../../code/project/task-folder.ts";
import { packageFolder } from "../../installed/installation.ts";
import { type Connection, connectionOf, followerOf, localUrl, textOf, withAdminKey } from "./connection.ts";
import type { Register } from "./group.ts";
import type { Options } from "./options.ts";
import { Prober, sampleGiven } from "./prober.ts";
import { agree, CommandFailed, plain, said, type Terminal } from "./terminal.ts";
import { tableOf } from "./text-table.ts";
import { allChecks } from "./verify/all-checks.ts";
import { type Check, type Group, groups, type Outcome, type Tools } from "./verify/check.ts";
import {
  estimateOf,
  inDollars,
  mostMinutes,
  mostMinutesLong,
  mostTasks,
  pollEveryMs,
  priceOf,
} from "./verify/estimate.ts";
import { machineClock, runChecks, StoppableClock } from "./verify/run-checks.ts";
import { readTarget, type Sample } from "./verify/target.ts";
import type { TemporaryKey } from "./verify/temporary-key.ts";
import { reportOf } from "./verify/verify-report.ts";

const help = `
Runs checks on a deployment that only a real account can pass: delays, schedules, dead letters, crashes, alarms, containers, logs. It says
first what it will do, for how long and for what price, and asks. It cleans up behind itself, also after Ctrl-C. The exit code is 1 when a
check differs.

--stack finds the deployment by the name of a stack, such as Offload-dev-service, with your AWS credentials, and makes a key for itself that
it revokes; a --url beside it is where the API is reached, such as a proxy's. With --url and --key it checks what the API shows. Against the local server it runs as far as that goes.

Checks that need tasks to fail use the probe types: --add-probes copies them to tasks/, and the construct registers them with \`probes: true\`.
Without them, a harmless task type of yours can be named with --type; its handler really runs.

Examples:
  npx offload verify --stack Offload-dev-service
  npx offload verify --url http://127.0.0.1:3000 --only waits --only files --yes
`;

const given = [
  ["--stack <name>", "name of a stack of the deployment, or of the deployment; with AWS credentials"],
  ["--url <url>", "URL of the API", { env: "OFFLOAD_URL", initial: localUrl }],
  ["--key <key>", "API key of an operator; of an admin for alarms", { env: "OFFLOAD_KEY" }],
  ["--only <group>", `only checks of this group (${groups.join(", ")}); repeatable`, addGroup],
  ["--long", "also the checks that take hours: a burst after 30 idle minutes, push over two hours"],
  ["--type <type>", "one of your own task types, for tasks that have to complete"],
  ["--input <json>", "input of the tasks of --type, as JSON; default: {}"],
  ["-y, --yes", "do not ask"],
  ["--report <file>", "the report; default: offload-verify-<stage>-<date>.md"],
  ["--show-account", "name the account and the API's URL in the report", { initial: false }],
  ["--add-probes", "only copy the probe types to the folder of the task types", { initial: false }],
] as const;

interface VerifyOptions extends Options<typeof given> {
  /** The URL of the command line is the deployment's, whatever its stack says. */
  urlWins?: boolean;
}

/** `offload verify` */
export const register: Register = (group) => {
  const { command, terminal } = group;
  group.help(help).does(given, async (options) => {
    if (options.addProbes) {
      addProbes(terminal);
      return;
    }
    // A variable with the URL may be of another deployment than the stack's.
    return verify(terminal, { ...options, urlWins: command.getOptionValueSource("url") === "cli" });
  });
};

/** The probe types that the checks use. The package has their files. */
const usedProbes = ["probe.echo", "probe.fail", "probe.crash", "probe.file", "probe.long"] as const;

/** Copies the probe types to the folder of the task types. Overwrites no file. */
function addProbes(terminal: Terminal): void {
  const folder = tasksFolder();
  mkdirSync(folder, { recursive: true });
  for (const name of usedProbes) {
    const path = join(folder, `${name}.ts`);
    if (existsSync(path)) continue;
    copyFileSync(join(packageFolder, "tasks", `${name}.ts`), path);
    terminal.out(`  + ${path}`);
  }
  terminal.note(
    "Types named `probe.*` are registered only where the construct has `probes: true`, and on the local server. probe.long " +
      "needs `containers`: delete its file where there are none.",
  );
}

function addGroup(text: string, before: Group[] = []): Group[] {
  const found = groups.find((one) => one === text);
  if (found === undefined) throw new InvalidArgumentError(`Expected one of ${groups.join(", ")}.`);
  return [...before, found];
}

/** Returns the exit code. */
async function verify(terminal: Terminal, options: VerifyOptions): Promise<number> {
  const checks = checksOf(options);
  const sample = sampleGiven(options);
  const account = options.stack === undefined ? undefined : await openAccount(options.stack);
  const clock = new StoppableClock();
  let key: TemporaryKey | undefined;
  let listenNoMore = () => {};
  try {
    const url = account === undefined || options.urlWins === true ? options.url : account.facts.url;
    await announce(terminal, checks, { ...options, url });
    listenNoMore = stopOnInterrupt(terminal, clock);
    if (account !== undefined && options.key === undefined) {
      key = await (await import("./verify/temporary-key.ts")).makeKey(account.facts.table);
    }
    const connection = withAdminKey({ ...options, url, ...(key !== undefined && { key: key.token }) });
    return await run(terminal, { options, checks, connection, sample, account, clock });
  } finally {
    await key?.revoke();
    listenNoMore();
    account?.close();
  }
}

/** The checks of the chosen groups. Checks that take hours are in the report in any case, as left out. */
const checksOf = ({ only }: VerifyOptions): Check[] =>
  allChecks.filter((check) => only === undefined || only.includes(check.group));

async function openAccount(stack: string): Promise<VerifiedAccount> {
  const { AwsAccount } = await import("../../aws/verified/aws-account.ts");
  return AwsAccount.open(stack).catch((error: unknown) => {
    throw new CommandFailed(textOf(error), { cause: error });
  });
}

/** Says what it will do, and asks. */
async function announce(
  terminal: Terminal,
  checks: readonly Check[],
  { url, long, yes }: VerifyOptions,
): Promise<void> {
  const chosen = checks.filter(({ needs }) => long === true || !needs.includes("long"));
  const { tasks, dollars } = estimateOf(chosen);
  const minutes = long === true ? mostMinutesLong : mostMinutes;
  terminal.note(
    `Verifies ${plain(url)}: ${chosen.length} checks, at most ${minutes} minutes, at most ${tasks} tasks, at most ${inDollars(dollars)}.`,
  );
  const warnings = new Set(chosen.flatMap(({ warning }) => warning ?? []));
  for (const warning of warnings) terminal.note(warning);
  await agree(terminal, { question: "Begin?", yes, no: "nothing was done" });
}

interface Work {
  options: VerifyOptions;
  checks: readonly Check[];
  connection: Connection;
  sample: Sample | undefined;
  account: VerifiedAccount | undefined;
  clock: StoppableClock;
}

/** @returns The exit code. */
async function run(terminal: Terminal, work: Work): Promise<number> {
  const { options, checks, connection, sample, account, clock } = work;
  const client = followerOf(connection);
  const clientOptions = connectionOf(connection, 6);
  const long = options.long === true;
  const target = await readTarget({ client, connection: clientOptions, sample, account, long });
  const minutes = long ? mostMinutesLong : mostMinutes;
  const limits = { limitSeconds: minutes * 60, longestPauseMs: pollEveryMs, mostTasks, retentionSeconds: 600 };
  const prober = new Prober(client, clock, { tag: "verify", ...limits });
  const tools: Tools = {
    ...{ target, prober, clock, startedAtMs: clock.now() },
    ...{ admin: new Admin(clientOptions), transport: new Transport(clientOptions) },
  };
  const outcomes = await untilStopped(terminal, checks, tools, clock, minutes);
  const left = await prober.cleanUp(machineClock, cleanUpSeconds);
  write(terminal, options, tools, outcomes, left);
  return left !== undefined || outcomes.some(({ verdict }) => verdict === "differs") || clock.isStopped ? 1 : 0;
}

/** Time for cancelling and discarding what is left, and for checks that still end. */
const cleanUpSeconds = 60;
const endMs = 20_000;

/** The first Ctrl-C stops the checks, the second one the program. Returns a function that ends this. */
function stopOnInterrupt(terminal: Terminal, clock: StoppableClock): () => void {
  const listenNoMore = terminal.onInterrupt(() => {
    listenNoMore();
    terminal.note("Stops and cleans up. Ctrl-C again ends at once, and leaves the tasks as they are.");
    clock.stop("stopped by Ctrl-C");
  });
  return listenNoMore;
}

/** Runs the checks until they have ended, or the time is over, or somebody presses Ctrl-C. */
async function untilStopped(
  terminal: Terminal,
  checks: readonly Check[],
  tools: Tools,
  clock: StoppableClock,
  minutes: number,
): Promise<Outcome[]> {
  const timer = setTimeout(() => clock.stop(`the ${minutes} minutes were over`), minutes * 60_000);
  const ended = new AbortController();
  let done = 0;
  const show = () => terminal.progress(`${done} of ${checks.length} checks done`);
  show();
  try {
    const { outcomes, allEnded } = await runChecks(checks, tools, clock, () => {
      done += 1;
      show();
    });
    clock.end();
    await Promise.race([allEnded, sleep(endMs, undefined, { signal: ended.signal }).catch(() => {})]);
    return outcomes;
  } finally {
    ended.abort();
    clearTimeout(timer);
    terminal.endProgress();
  }
}

/** Prints the table, and writes the report. */
function write(
  terminal: Terminal,
  options: VerifyOptions,
  { target, prober, startedAtMs }: Tools,
  outcomes: readonly Outcome[],
  left: string | undefined,
): void {
  const { account, isLocal, url, version } = target;
  const date = new Date(startedAtMs).toISOString();
  const stage = account?.facts.stage ?? (isLocal ? "local" : "by-url");
  const text = reportOf({
    ...{ date, stage, version, outcomes, left, region: account?.facts.region },
    ...{ tasks: prober.tasks, price: inDollars(priceOf(prober)), options: optionsOf(options) },
    minutes: Math.ceil((Date.now() - startedAtMs) / 60_000),
    isEmulated: account !== undefined && process.env.AWS_ENDPOINT_URL !== undefined,
    place: options.showAccount === true ? `${url}, account ${account?.facts.accountId ?? "not known"}` : undefined,
  });
  const file = options.report ?? `offload-verify-${stage}-${date.slice(0, 10)}.md`;
  writeFileSync(file, text);
  const columns = { check: "name", expected: "expected", seen: "seen", verdict: "verdict" } as const;
  terminal.out(tableOf(outcomes, columns, { terminal }));
  if (left !== undefined) terminal.note(left);
  terminal.note(`The report is in ${file}.`);
}

/** The options of a run that the report names: none that has a secret or a place. */
const optionsOf = ({ stack, only = [], long, type }: VerifyOptions): string[] =>
  said(
    stack === undefined ? "--url" : "--stack",
    ...only.map((one) => `--only ${one}`),
    long === true && "--long",
    type !== undefined && "--type",
  );
