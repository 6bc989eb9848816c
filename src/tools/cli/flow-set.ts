import { InvalidArgumentError } from "commander";
import { Flow, type KeyLimit, type NewLimits, type TypeLimits, type TypeList } from "../../client/index.ts";
import { longestPerSeconds, maxPermits, maxStarts } from "../../core/task/type-limits.ts";
import { durationSeconds } from "../../util/duration.ts";
import type { Answer } from "./answer.ts";
import { type Connection, connection, connectionOf, countTo, withAdminKey } from "./connection.ts";
import type { Group } from "./group.ts";
import type { Options } from "./options.ts";
import { CommandFailed, plain, said, UsageError } from "./terminal.ts";

const changes = [
  ["--limit <n>", "attempts at the same time; of a type that has only a rate: its starts", countTo(maxStarts)],
  ["--rate <n>", "starts in --per-seconds, evenly spaced", countTo(maxStarts)],
  ["--per-seconds <n>", "seconds of --rate; default: as they are now, or 1", countTo(longestPerSeconds)],
  ["--as-defined", "the same as `flow clear`"],
  ["--limit-key <key>", "only for one key of the type's limit, in the tenant (operators, too)"],
  ["--expires-in <duration>", "with --limit-key: as long as this, such as 90d, 12h, 30m, 45s", seconds],
] as const;

type SetOptions = Connection & Options<typeof changes>;

/** `offload flow set` and `offload flow clear` */
export function addFlowSet(group: Group): void {
  const sets = "change the limits of a task type, also of one that defines none, without a deployment (admins only)";
  group.add("set", sets, [["<type>"], ...connection, ...changes], (options, name) => {
    checkOptions(options);
    const { limitKey: key } = options;
    return key === undefined ? setLimits(name, options) : setKeyLimit(name, key, options);
  });
  const clears =
    "remove the limits that `flow set` gave a task type: those of its definition apply again (admins only)";
  const limitKey = ["--limit-key <key>", "only those of one key, in the tenant (operators, too)"] as const;
  group.add("clear", clears, [["<type>"], ...connection, limitKey], async (options, name) => {
    const { limitKey } = options;
    if (limitKey === undefined) return setLimits(name, { ...options, asDefined: true });
    await new Flow(connectionOf(options)).clearKeyLimit(name, limitKey);
    const text = `${plain(limitKey)} has the limits of ${plain(name)} again, in every worker after about three seconds.`;
    return { json: {}, text };
  });
}

/** Parses a duration. Returns seconds. */
function seconds(text: string): number {
  const parsed = durationSeconds(text);
  if (parsed !== undefined && Number.isInteger(parsed) && parsed > 0) return parsed;
  throw new InvalidArgumentError("Expected a duration such as 90d, 12h, 30m, 45s.");
}

async function setKeyLimit(name: string, key: string, options: SetOptions): Promise<Answer> {
  const { limit, rate, perSeconds, expiresIn: expiresInSeconds } = options;
  const change = { limit: limit ?? rate ?? 0, perSeconds: rate === undefined ? perSeconds : (perSeconds ?? 1) };
  const set = await new Flow(connectionOf(options)).setKeyLimit(name, key, { ...change, expiresInSeconds });
  const text = `${plain(name)}, in every worker after about three seconds:\n  ${keyLimitText(set)}`;
  return { json: set, text };
}

/** The limit of a key in words: `account-7: 10 at the same time, until 2027-01-01T00:00:00.000Z`. */
export function keyLimitText({ key, limit, per_seconds, until, tenant_id }: Omit<KeyLimit, "type">): string {
  const what = per_seconds === null ? `${limit} at the same time` : `${limit} in ${per_seconds} s`;
  const whose = tenant_id === null ? ", of all tenants together" : "";
  return `${plain(key)}: ${what}${whose}${until === null ? "" : `, until ${until}`}`;
}

async function setLimits(name: string, options: SetOptions): Promise<Answer> {
  const flow = new Flow(connectionOf(withAdminKey(options)));
  const type = (await flow.types()).types.find((one) => one.name === name);
  if (type === undefined) throw new CommandFailed(`no task type is named ${name}; npx offload types lists them`);
  const limits = await flow.setLimits(name, changeOf(type, options));
  return { json: limits, text: limitsText(limits) };
}

function checkOptions({ limit, rate, perSeconds, asDefined, limitKey, expiresIn }: SetOptions): void {
  if (limitKey === undefined && expiresIn !== undefined) throw new UsageError("--expires-in goes with --limit-key");
  if (limitKey !== undefined && asDefined) throw new UsageError("--limit-key goes with `flow clear`");
  if (limitKey !== undefined && limit !== undefined && rate !== undefined)
    throw new UsageError("--limit-key goes with either --limit or --rate");
  if (asDefined && (limit ?? rate ?? perSeconds) !== undefined)
    throw new UsageError("--as-defined goes with no other limit");
  if (!asDefined && (limit ?? rate) === undefined) throw new UsageError("give --limit, --rate or --as-defined");
}

type Type = TypeList["types"][number];

/** @throws UsageError for an option that does not fit the type */
function changeOf(type: Type, { limit, rate, perSeconds, asDefined }: SetOptions): NewLimits {
  const { concurrency, rate_limit: present } = type;
  if (asDefined) return { concurrency: null, rate: null };
  // A type that is defined with a rate only has one limit, which `--limit` names.
  const isStarts = concurrency === null && present !== null && present.defined_per_seconds !== null;
  const starts = rate ?? (isStarts ? limit : undefined);
  const places = isStarts ? undefined : limit;
  if (places !== undefined && places > maxPermits) throw new UsageError(`--limit: at most ${maxPermits}`);
  if (perSeconds !== undefined && starts === undefined) throw new UsageError("--per-seconds goes with --rate");
  if (starts === undefined) return { concurrency: places };
  return { concurrency: places, rate: { limit: starts, perSeconds: perSeconds ?? present?.per_seconds ?? 1 } };
}

/** The sharing of a limit in words. */
const sharing = ({ keyed, scope }: { keyed: boolean; scope: string }): string =>
  `${keyed ? " per key" : ""}${scope === "deployment" ? ", of all tenants together" : ""}`;

/** A strict order in words. */
const orderText = ({ order, on_dead_letter }: NonNullable<Type["concurrency"]>): string =>
  order === undefined ? "" : ` in ${order} order${on_dead_letter === "hold" ? ", held by dead letters" : ""}`;

/** A number of places in words: `5 per key (defined: 3)`. */
export const placesText = (places: NonNullable<Type["concurrency"]>): string =>
  `${places.limit ?? "by input"}${sharing(places)}${orderText(places)}${definedText(places)}`;

/** A limit of a key that has no number is a function of the input. */
const definedText = ({ defined_limit: limit, keyed }: NonNullable<Type["concurrency"]>): string =>
  limit === undefined ? "" : ` (defined: ${limit ?? (keyed ? "by input" : "none")})`;

type Rates = NonNullable<Type["rate_limit"]>;

/** A rate in words: `100 in 60 s per key (defined: 5 in 1 s)`. Of a list: `3 in 1 s per key and 2000 in 86400 s`. */
export const rateText = (rates: Rates): string =>
  [rates, ...(rates.longer ?? [])].map((rate) => oneRateText(rate, rate === rates ? sharing(rates) : "")).join(" and ");

function oneRateText(rate: Pick<Rates, "limit" | "per_seconds" | "defined_limit" | "defined_per_seconds">, of: string) {
  const { limit, per_seconds, defined_limit, defined_per_seconds } = rate;
  const before = defined_per_seconds === null ? "none" : `${defined_limit ?? "by input"} in ${defined_per_seconds} s`;
  const defined = defined_per_seconds === undefined ? "" : ` (defined: ${before})`;
  return `${limit ?? "by input"} in ${per_seconds} s${of}${defined}`;
}

function limitsText({ type, concurrency, rate_limit }: TypeLimits): string {
  const lines = said(
    concurrency !== null && `  attempts at the same time: ${placesText(concurrency)}`,
    rate_limit !== null && `  starts: ${rateText(rate_limit)}`,
  );
  if (lines.length === 0) return `${plain(type)} has no limits, in every worker after about three seconds.`;
  return [`${plain(type)}, in every worker after about three seconds:`, ...lines].join("\n");
}
