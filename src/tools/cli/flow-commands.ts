import { Flow, ProblemError, type TypeList, type TypePause } from "../../client/index.ts";
import { tiers } from "../../core/model/words.ts";
import { type Answer, listText } from "./answer.ts";
import { type Connection, clientOf, connection, connectionOf, isForAll, withAdminKey } from "./connection.ts";
import { addFlowSet, keyLimitText, placesText, rateText } from "./flow-set.ts";
import type { Register } from "./group.ts";
import type { Options } from "./options.ts";
import { plain, said, type Terminal, UsageError } from "./terminal.ts";
import { type Columns, tableOf } from "./text-table.ts";

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
`;

const pausing = (act: "pause" | "resume") =>
  [
    ...connection,
    ["--tier <tier>", `${act} a tier (admins only)`, { among: tiers }],
    ["--type <type>", `${act} a task type, for the tenant`],
    ["--all", "with --type: for all tenants (admins only)"],
  ] as const;

type PauseOptions = Options<ReturnType<typeof pausing>>;

const limitKey = ["--limit-key <key>", "only that of one key; default: those of all keys"] as const;

/** `offload flow show|pause|resume|set|clear|close` */
export const register: Register = (group) => {
  group.help(examples, "any");
  const shows = "show what is paused, the limits in force, and the breakers";
  group.add("show", shows, connection, (options) => show(withAdminKey(options)));
  for (const act of ["pause", "resume"] as const) {
    const about = `${act} a tier, a task type or a tenant: give --tier, --type or --tenant`;
    group.add(act, about, pausing(act), (options) => pauseOrResume(group.terminal, act, options));
  }
  addFlowSet(group);
  const closes = "close the breaker of a task type for the tenant: its waiting tasks start ('*': for all tenants)";
  group.add("close", closes, [["<type>"], ...connection, limitKey], async (options, type) => {
    const flow = new Flow(connectionOf(isForAll(options) ? withAdminKey(options) : options));
    const { limitKey: key, json } = options;
    const closed = await flow.closeBreaker(type, { key });
    const whose = key === undefined ? plain(type) : `${plain(type)} for the key ${plain(key)}`;
    if (json) return { json: closed, text: "" };
    group.terminal.out(`The breaker of ${whose} is closed. Its waiting tasks start in order of submission.`);
    await showHolds(group.terminal, flow, { type });
  });
};

async function pauseOrResume(terminal: Terminal, act: "pause" | "resume", options: PauseOptions) {
  checkTarget(options);
  const { json, said } = await acted(act, options);
  if (act === "pause" || options.json) return { json, text: said };
  terminal.out(said);
  const flow = new Flow(connectionOf(options.tier === undefined ? options : withAdminKey(options)));
  await showHolds(terminal, flow, options);
}

async function showHolds(terminal: Terminal, flow: Flow, of: { type?: string }): Promise<void> {
  for (const line of await holdsOf(flow, of)) terminal.out(line);
}

/** Lists the pauses, breakers and limits that still hold the tasks that were let go. */
async function holdsOf(flow: Flow, { type }: { type?: string }): Promise<string[]> {
  const { types, tenant_paused_since } = await flow.types();
  const ofTypes = types
    .filter(({ name }) => type === undefined || name === type)
    .flatMap(({ name, paused, breaker, concurrency, rate_limit }) =>
      said(
        paused !== null && `is paused ${pauseText(paused)}`,
        breaker?.state === "open" &&
          `has an open breaker${sinceText(breaker)} until ${breaker.open_until}: npx offload flow close ${plain(name)}`,
        type !== undefined && concurrency !== null && `runs at most ${placesText(concurrency)} at the same time`,
        type !== undefined && rate_limit !== null && `starts at most ${rateText(rate_limit)}`,
      ).map((hold) => `Still held: ${plain(name)} ${hold}.`),
    );
  const tenant = tenant_paused_since !== null && `Still held: the tenant is paused since ${tenant_paused_since}.`;
  return said(tenant, ...ofTypes);
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
    return { json: await flow[`${act}Queue`](tier), said: pausedText(`The tier ${tier}`, act, `--tier ${tier}`) };
  }
  if (type !== undefined) {
    const json = await flow[`${act}Type`](type, { all });
    return { json, said: typeText(json, act, options) };
  }
  const said = pausedText(`The tenant ${tenant}`, act, `--tenant ${tenant}`);
  return { json: await flow[`${act}Tenant`](tenant), said };
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

async function show(options: Connection): Promise<Answer> {
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
  const tierStates = Object.entries(queues ?? {}).map(([tier, { paused, paused_since }]) => ({
    ...{ tier, state: paused ? "paused" : "active", since: paused_since },
  }));
  const tierColumns = { tier: "tier", state: "state", since: "since" } as const;
  return {
    json: { ...state, queues },
    text: (screen) =>
      [
        ...(queues === null ? [] : [`${tableOf(tierStates, tierColumns, screen)}\n`]),
        listText(state.types, "No task types.", typeColumns)(screen),
        ...notesOn(state),
      ].join("\n"),
  };
}

/** Lines about types and the tenant, for which the table has no room. */
function notesOn({ types, tenant_paused_since }: TypeList): string[] {
  const limits = types.flatMap(({ name, key_limits = [] }) =>
    key_limits.map((one) => `\n${plain(name)} has a limit of its own for the key ${keyLimitText(one)}`),
  );
  const breakers = types.flatMap(({ name, breaker }) =>
    (breaker?.open_keys ?? []).map(
      ({ key, open_until }) => `\n${plain(name)} has an open breaker for the key ${plain(key)}, until ${open_until}`,
    ),
  );
  const pauses = types.flatMap(({ name, stopped_tenants = [] }) =>
    stopped_tenants
      .filter(({ paused_reason }) => paused_reason !== undefined)
      .map(
        ({ tenant_id, paused_reason }) =>
          `\n${plain(name)} is paused for the tenant ${plain(tenant_id)} by itself: ${plain(paused_reason)}.`,
      ),
  );
  const tenant =
    tenant_paused_since !== null && `\nThe tenant is paused since ${tenant_paused_since}: none of its tasks starts.`;
  return said(...limits, ...breakers, ...pauses, tenant);
}

const typeColumns: Columns<TypeList["types"][number]> = {
  type: "name",
  concurrency: ({ concurrency }) => concurrency && placesText(concurrency),
  rate: ({ rate_limit }) => rate_limit && rateText(rate_limit),
  breaker: ({ breaker }) => breaker && breakerText(breaker),
  paused: ({ paused }) => pauseText(paused),
  since: ({ paused }) => paused?.all ?? paused?.tenant,
};

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
