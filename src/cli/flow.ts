import { type Command, Option } from "commander";
import { Flow, ProblemError, type TypeList, type TypePause } from "../client/index.ts";
import { type Tier, tiers } from "../core/model/tier.ts";
import { type Connection, clientOf, connectionOf, isForAll, withAdminKey, withConnection } from "./client.ts";
import { addFlowSet, keyLimitText, placesText, rateText } from "./flow-set.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";
import { plain, type Terminal, UsageError } from "./terminal.ts";

const examples = `
Tasks that may not start now are accepted and wait in a line, in order of submission. \`pause\` returns when no worker starts another
of these tasks, after about three seconds; running attempts finish. A changed limit is known everywhere after about three seconds, too.

Examples:
  npx offload flow show                               what is paused, and the limits in force
  npx offload flow pause --type mail.send             pause a type for your tenant
  npx offload flow pause --type mail.send --all       for all tenants (admins only)
  npx offload flow pause --tier low                   pause a tier (admins only)
  npx offload flow resume --tenant acme               resume all tasks of a tenant
  npx offload flow set mail.send --limit 5            5 attempts at the same time (admins only)
  npx offload flow set mail.send --rate 100 --per-seconds 60
  npx offload flow set mail.send --limit 9 --limit-key acme --expires-in 2h   only the key acme, for two hours
  npx offload flow clear mail.send                    use the limits of the definition again, or none
  npx offload flow close mail.send                    close the breaker of a type
  npx offload flow close mail.send --limit-key acme   only that of the key acme

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time.
`;

/** `offload flow show|pause|resume|set|clear|close` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  withConnection(command.command("show"))
    .description("show what is paused, the limits in force, and the breakers")
    .action((options: Connection) => show(terminal, withAdminKey(options)));
  for (const act of ["pause", "resume"] as const) addPause(command, terminal, act);
  addFlowSet(command, terminal);
  withConnection(command.command("close <type>"))
    .description("close the breaker of a task type for the tenant: its waiting tasks start ('*': for all tenants)")
    .option("--limit-key <key>", "only that of one key; default: those of all keys")
    .action(async (type: string, options: Connection & { limitKey?: string }) => {
      const flow = new Flow(connectionOf(isForAll(options) ? withAdminKey(options) : options));
      const { limitKey: key } = options;
      const closed = await flow.closeBreaker(type, { key });
      if (options.json) return terminal.out(JSON.stringify(closed, null, 2));
      const whose = key === undefined ? plain(type) : `${plain(type)} for the key ${plain(key)}`;
      terminal.out(`The breaker of ${whose} is closed. Its waiting tasks start in order of submission.`);
      for (const line of await holdsOf(flow, { type })) terminal.out(line);
    });
};

interface PauseOptions extends Connection {
  tier?: Tier;
  type?: string;
  all?: boolean;
}

function addPause(command: Command, terminal: Terminal, act: "pause" | "resume"): void {
  withConnection(command.command(act))
    .description(`${act} a tier, a task type or a tenant: give --tier, --type or --tenant`)
    .addOption(new Option("--tier <tier>", `${act} a tier (admins only)`).choices(tiers))
    .option("--type <type>", `${act} a task type, for the tenant`)
    .option("--all", "with --type: for all tenants (admins only)")
    .action(async (options: PauseOptions) => {
      checkTarget(options);
      const { json, said } = await acted(act, options);
      if (options.json) return terminal.out(JSON.stringify(json, null, 2));
      terminal.out(said);
      if (act === "pause") return;
      const flow = new Flow(connectionOf(options.tier === undefined ? options : withAdminKey(options)));
      for (const line of await holdsOf(flow, options)) terminal.out(line);
    });
}

/** Lists the pauses, breakers and limits that still hold the tasks that were let go. */
async function holdsOf(flow: Flow, { type }: { type?: string }): Promise<string[]> {
  const { types, tenant_paused_since } = await flow.types();
  const tenant = tenant_paused_since === null ? [] : [`Still held: the tenant is paused since ${tenant_paused_since}.`];
  const ofTypes = types
    .filter(({ name }) => type === undefined || name === type)
    .flatMap(({ name, paused, breaker, concurrency, rate_limit }) =>
      [
        ...(paused === null ? [] : [`is paused ${pauseText(paused)}`]),
        ...(breaker?.state === "open"
          ? [
              `has an open breaker${sinceText(breaker)} until ${breaker.open_until}: npx offload flow close ${plain(name)}`,
            ]
          : []),
        ...(type === undefined || concurrency === null
          ? []
          : [`runs at most ${placesText(concurrency)} at the same time`]),
        ...(type === undefined || rate_limit === null ? [] : [`starts at most ${rateText(rate_limit)}`]),
      ].map((hold) => `Still held: ${plain(name)} ${hold}.`),
    );
  return [...tenant, ...ofTypes];
}

function checkTarget({ tier, type, all, tenant }: PauseOptions): void {
  if (tier !== undefined && (type ?? tenant) !== undefined)
    throw new UsageError("--tier goes with neither --type nor --tenant");
  if (all && type === undefined) throw new UsageError("--all goes with --type");
  if (all && tenant !== undefined) throw new UsageError("give either --all or --tenant");
  if ((tier ?? type ?? tenant) === undefined) throw new UsageError("give --tier, --type or --tenant");
}

/** Pauses or resumes, and says so. */
async function acted(act: "pause" | "resume", options: PauseOptions): Promise<{ json: object; said: string }> {
  const { tier, type, all, tenant = "" } = options;
  const flow = new Flow(connectionOf(tier !== undefined || all ? withAdminKey(options) : options));
  if (tier !== undefined) {
    const json = await (act === "pause" ? flow.pauseQueue(tier) : flow.resumeQueue(tier));
    return { json, said: pausedText(`The tier ${tier}`, act, `--tier ${tier}`) };
  }
  if (type !== undefined) {
    const json = await (act === "pause" ? flow.pauseType(type, { all }) : flow.resumeType(type, { all }));
    return { json, said: typeText(json, act, options) };
  }
  const json = await (act === "pause" ? flow.pauseTenant(tenant) : flow.resumeTenant(tenant));
  return { json, said: pausedText(`The tenant ${tenant}`, act, `--tenant ${tenant}`) };
}

function pausedText(what: string, act: "pause" | "resume", target: string): string {
  if (act === "resume") return `${what} is not paused. Its waiting tasks start in order of submission.`;
  return `${what} is paused: its tasks are accepted and wait; running ones finish.\nResume with: npx offload flow resume ${target}`;
}

function typeText({ type, paused }: TypePause, act: "pause" | "resume", { all, tenant }: PauseOptions): string {
  const whose = all ? "all tenants" : tenant === undefined ? "your tenant" : `the tenant ${tenant}`;
  if (act === "resume" && paused !== null) {
    const [other, flag] = paused.all === null ? ["the tenant", ""] : ["all tenants", " --all"];
    return `The type ${plain(type)} is still paused for ${other}. Resume with: npx offload flow resume --type ${plain(type)}${flag}`;
  }
  const target = `--type ${plain(type)}${all ? " --all" : tenant === undefined ? "" : ` --tenant ${tenant}`}`;
  return pausedText(`The type ${plain(type)}`, act, target).replace("is paused", `is paused for ${whose}`);
}

async function show(terminal: Terminal, options: Connection): Promise<void> {
  const [state, queues] = await Promise.all([
    new Flow(connectionOf(options)).types(),
    // Only admins may read the queues.
    clientOf(options)
      .queues()
      .catch((error: unknown) => {
        if (error instanceof ProblemError && error.status === 403) return null;
        throw error;
      }),
  ]);
  if (options.json) return terminal.out(JSON.stringify({ ...state, queues }, null, 2));
  if (queues !== null) {
    const rows = Object.entries(queues).map(([tier, { paused, paused_since }]) => [
      tier,
      paused ? "paused" : "active",
      paused_since,
    ]);
    terminal.out(`${table(["tier", "state", "since"], rows, terminal, options)}\n`);
  }
  terminal.out(state.types.length === 0 ? "No task types." : typeTable(state, terminal, options));
  for (const { name, key_limits = [] } of state.types)
    for (const one of key_limits)
      terminal.out(`\n${plain(name)} has a limit of its own for the key ${keyLimitText(one)}`);
  for (const line of openKeys(state)) terminal.out(line);
  for (const { name, stopped_tenants = [] } of state.types)
    for (const { tenant_id: tenant, paused_reason: reason } of stopped_tenants)
      if (reason !== undefined)
        terminal.out(`\n${plain(name)} is paused for the tenant ${plain(tenant)} by itself: ${plain(reason)}.`);
  if (state.tenant_paused_since !== null) {
    terminal.out(`\nThe tenant is paused since ${state.tenant_paused_since}: none of its tasks starts.`);
  }
}

const openKeys = ({ types }: TypeList): string[] =>
  types.flatMap(({ name, breaker }) =>
    (breaker?.open_keys ?? []).map(
      ({ key, open_until }) => `\n${plain(name)} has an open breaker for the key ${plain(key)}, until ${open_until}`,
    ),
  );

function typeTable({ types }: TypeList, terminal: Terminal, options: Connection): string {
  const rows = types.map(({ name, concurrency, rate_limit, breaker, paused }) => [
    name,
    concurrency && placesText(concurrency),
    rate_limit && rateText(rate_limit),
    breaker && breakerText(breaker),
    pauseText(paused),
    paused?.all ?? paused?.tenant,
  ]);
  return table(["type", "concurrency", "rate", "breaker", "paused", "since"], rows, terminal, options);
}

const pauseText = (paused: TypePause["paused"]): string => {
  if (paused === null) return "no";
  const by = paused.reason === undefined ? "" : ` by itself: ${paused.reason}`;
  if (paused.all === null) return `for the tenant${by}`;
  return `${paused.tenant === null ? "for all tenants" : "for all, and for the tenant"}${by}`;
};

type Breaker = NonNullable<TypeList["types"][number]["breaker"]>;

const sinceText = ({ open_since }: Breaker): string => (open_since === null ? "" : ` since ${open_since}`);

function breakerText({ state, failures, failures_in_a_row, open_until, open_keys }: Breaker): string {
  if (state === "closed") return `closed, ${failures_in_a_row} of ${failures} failures${open_keys ? " per key" : ""}`;
  return open_keys === undefined ? `open until ${open_until}` : `open for ${keysText(open_keys.length)}`;
}

const keysText = (keys: number): string => `${keys} ${keys === 1 ? "key" : "keys"}`;
