import type { Command } from "commander";
import { Flow, type NewLimits, type TypeLimits, type TypeList } from "../client/index.ts";
import { longestPerSeconds, mostPlaces, mostStarts } from "../core/task/type-limits.ts";
import { type Connection, connectionOf, countTo, withAdminKey, withConnection } from "./client.ts";
import { CommandFailed, plain, type Terminal, UsageError } from "./terminal.ts";

interface SetOptions extends Connection {
  limit?: number;
  rate?: number;
  perSeconds?: number;
  asDefined?: boolean;
}

/** `offload flow set` */
export function addFlowSet(command: Command, terminal: Terminal): void {
  withConnection(command.command("set <type>"))
    .description("change the limits of a task type, without a deployment (admins only)")
    .option("--limit <n>", "attempts at the same time; of a type that has only a rate: its starts", countTo(mostStarts))
    .option("--rate <n>", "starts in --per-seconds, evenly spaced", countTo(mostStarts))
    .option("--per-seconds <n>", "seconds of --rate; default: as they are now", countTo(longestPerSeconds))
    .option("--as-defined", "remove what was set: use the limits of the definition again")
    .action(async (name: string, options: SetOptions) => {
      checkOptions(options);
      const flow = new Flow(connectionOf(withAdminKey(options)));
      const type = (await flow.types()).types.find((one) => one.name === name);
      if (type === undefined) throw new CommandFailed(`no task type is named ${name}; npx offload types lists them`);
      const limits = await flow.setLimits(name, changeOf(type, options));
      terminal.out(options.json ? JSON.stringify(limits, null, 2) : limitsText(limits));
    });
}

function checkOptions({ limit, rate, perSeconds, asDefined }: SetOptions): void {
  if (asDefined && (limit ?? rate ?? perSeconds) !== undefined)
    throw new UsageError("--as-defined goes with no other limit");
  if (!asDefined && (limit ?? rate) === undefined) throw new UsageError("give --limit, --rate or --as-defined");
}

type Type = TypeList["types"][number];

/** @throws UsageError for an option that does not fit the type */
function changeOf(type: Type, { limit, rate, perSeconds, asDefined }: SetOptions): NewLimits {
  const { name, concurrency, rate_limit: present } = type;
  if (asDefined) return { concurrency: null, rate: null };
  if (concurrency === null && present === null) {
    throw new UsageError(`${name} is defined without limits; add concurrency or rateLimit to its definition`);
  }
  // A type that has only a rate has one limit, which `--limit` names.
  const starts = rate ?? (concurrency === null ? limit : undefined);
  const places = concurrency === null ? undefined : limit;
  if (places !== undefined && places > mostPlaces) throw new UsageError(`--limit: at most ${mostPlaces}`);
  if (perSeconds !== undefined && starts === undefined) throw new UsageError("--per-seconds goes with --rate");
  if (starts === undefined) return { concurrency: places };
  if (present === null) throw new UsageError(`${name} is defined without a rate; add rateLimit to its definition`);
  return { concurrency: places, rate: { limit: starts, perSeconds: perSeconds ?? present.per_seconds } };
}

/** The sharing of a limit in words. */
const sharing = ({ keyed, scope }: { keyed: boolean; scope: string }): string =>
  `${keyed ? " per key" : ""}${scope === "deployment" ? ", of all tenants together" : ""}`;

/** A number of places in words: `5 per key (defined: 3)`. */
export const placesText = (places: NonNullable<Type["concurrency"]>): string =>
  `${places.limit}${sharing(places)}${places.defined_limit === undefined ? "" : ` (defined: ${places.defined_limit})`}`;

/** A rate in words: `100 in 60 s per key (defined: 5 in 1 s)`. */
export function rateText(rate: NonNullable<Type["rate_limit"]>): string {
  const { limit, per_seconds, defined_limit, defined_per_seconds } = rate;
  const defined = defined_limit === undefined ? "" : ` (defined: ${defined_limit} in ${defined_per_seconds} s)`;
  return `${limit} in ${per_seconds} s${sharing(rate)}${defined}`;
}

function limitsText({ type, concurrency, rate_limit }: TypeLimits): string {
  const lines = [
    ...(concurrency === null ? [] : [`  attempts at the same time: ${placesText(concurrency)}`]),
    ...(rate_limit === null ? [] : [`  starts: ${rateText(rate_limit)}`]),
  ];
  if (lines.length === 0) return `${plain(type)} is defined without limits.`;
  return [`${plain(type)}, in every worker after about three seconds:`, ...lines].join("\n");
}
