import { InvalidArgumentError } from "commander";
import { DynamoLimitEditor } from "../../aws/limit-editor.ts";
import {
  type AllLimits,
  defaultOpenUploadBytes,
  defaultSchedules,
  type Limits,
  limitNames,
} from "../../core/limits/limits.ts";
import { depthSchema, limitsSchema } from "../../core/limits/parse-limits.ts";
import { tiers } from "../../core/model/words.ts";
import { newLimit } from "./admin-commands.ts";
import type { Answer } from "./answer.ts";
import { configuredLimits, onTable, type TableOptions, tableHelp, tableOptions, tenantId } from "./deployed-table.ts";
import type { Group, Register } from "./group.ts";
import { type Options, valuesOf } from "./options.ts";
import { recordAct } from "./table-acts.ts";
import { plain, type Terminal, UsageError } from "./terminal.ts";
import { table } from "./text-table.ts";

const examples = `${tableHelp}
Each limit is a number, "none" (no limit, even if the default has one) or "unset" (use the default again). A change takes
effect within ten seconds. Limits that are set here override the deployment's own. \`limits show\` reads those from the
deployment's functions, for which it needs lambda:ListFunctions.

Examples:
  npx offload limits set --tenant acme --submits-per-second 20 --burst 40 --tasks-in-progress 1000
  npx offload limits set --default --submits-per-second 100
  npx offload limits set --depth low=5000 --depth critical=none
  npx offload limits show --tenant acme
`;

/** Value of a limit option: a number, null for "none", or undefined for "unset". */
type LimitValue = number | null | undefined;

const one = (text: string) => ({ to: parseLimit(text) });

const limits = [
  ["--submits-per-second <n>", "accepted submits per second, on average", one],
  ["--burst <n>", "submits accepted at once after a pause; default: the number per second", one],
  ["--tasks-in-progress <n>", "accepted tasks that have not ended", one],
  ["--request-bytes <n>", "largest request body, in bytes", one],
  ["--schedules <n>", "schedules, without those of the app's code; default: 100", one],
  ["--open-upload-bytes <n>", "bytes of announced uploads that no task has taken; default: 100 GiB", one],
] as const;

const setting = [
  ...tableOptions,
  ["--tenant <id>", "change the limits of this tenant", tenantId],
  ["--default", "change the default limits, for tenants without limits of their own"],
  ...limits,
  ["--depth <tier=n>", "refuse submits to a tier that holds this many messages; repeatable", parseDepth],
] as const;

type SetOptions = Options<typeof setting>;

/** `offload limits set|show` */
export const register: Register = (group) => {
  group.help(examples);
  addSet(group);
  const tenant = ["--tenant <id>", "also show the limits of this tenant", tenantId] as const;
  const shows = "show the limits in force, and which of them were set; --json prints only those that were set";
  group.add("show", shows, [...tableOptions, tenant], async (options) => {
    const found = await onTable(options, (table) => stored(new DynamoLimitEditor(table), options.tenant));
    return shown(group.terminal, found, options);
  });
};

function addSet(group: Group): void {
  group.add("set", "change limits; limits without an option stay as they are", setting, async (options) => {
    const { tenant, depth } = options;
    const changes = changesOf(options);
    checkTarget(options, changes);
    const after = await onTable(options, async (table) => {
      const editor = new DynamoLimitEditor(table);
      await recordAct(table, { tenant, action: "limits set", request: { ...changes, ...(depth && { depth }) } });
      if (Object.keys(changes).length > 0) await change(editor, tenant, changes);
      if (depth !== undefined) {
        const before = (await editor.ofDeployment())?.depth;
        await editor.setDepth(validated(depthSchema, { ...before, ...depth }));
      }
      return stored(editor, tenant);
    });
    return shown(group.terminal, after, options);
  });
}

/** The given limits, by their names in the table: `request_bytes` of `requestBytes`. */
function changesOf(options: SetOptions): Record<string, LimitValue> {
  const given = Object.entries(valuesOf(limits, options));
  return Object.fromEntries(
    given.map(([name, { to }]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), to]),
  );
}

function checkTarget({ tenant, default: all, depth: depths }: SetOptions, changes: Record<string, LimitValue>): void {
  const any = Object.keys(changes).length > 0;
  if (!any && depths === undefined) throw new UsageError("nothing to change: give at least one limit or --depth");
  if (any && (tenant === undefined) === (all !== true))
    throw new UsageError("give exactly one of --tenant and --default");
}

async function change(editor: DynamoLimitEditor, tenant: string | undefined, changes: Record<string, LimitValue>) {
  const before = tenant === undefined ? (await editor.ofDeployment())?.default : {};
  const after = validated(limitsSchema, { ...before, ...changes });
  if (tenant === undefined) return editor.setDefault(after);
  const unset = Object.entries(changes).filter(([, limit]) => limit === undefined);
  await editor.change(tenant, { ...after, ...Object.fromEntries(unset.map(([name]) => [name, "unset"])) });
}

function validated<T>(
  schema: { safeParse(value: unknown): { data?: T; error?: { issues: { path: PropertyKey[]; message: string }[] } } },
  value: unknown,
): T {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  const issue = error?.issues[0];
  throw new UsageError(`${issue?.path.join(".")}: ${issue?.message}`);
}

async function stored(editor: DynamoLimitEditor, tenant: string | undefined): Promise<Stored> {
  const { default: all, depth: depths } = (await editor.ofDeployment()) ?? { default: {}, depth: {} };
  return {
    default: all,
    depth: depths,
    ...(tenant === undefined ? {} : { tenant: (await editor.ofTenant(tenant)) ?? {} }),
  };
}

async function shown(terminal: Terminal, found: Stored, options: TableOptions & { tenant?: string }): Promise<Answer> {
  if (options.json) return { json: found, text: "" };
  const configured = await configuredLimits(options).catch((error: unknown) => {
    terminal.note(`The deployment's own settings could not be read: ${plain((error as Error).message)}`);
    return undefined;
  });
  const rows = limitRows(found, configured, options.tenant);
  return { text: table(["limit", "value", "from"], rows, { terminal }) };
}

/** Parses a number, `none` or `unset`. */
function parseLimit(text: string): LimitValue {
  const { to } = newLimit(text);
  return to === "unset" ? undefined : to;
}

function parseDepth(text: string, before: Record<string, LimitValue> = {}): Record<string, LimitValue> {
  const [tier = "", value = ""] = text.split("=");
  if (!tiers.some((known) => known === tier))
    throw new InvalidArgumentError(`Expected one of ${tiers.join(", ")}, =, and a number.`);
  return { ...before, [tier]: parseLimit(value) };
}

/** Limits that Offload has where nothing sets others. */
const ownLimits = { schedules: defaultSchedules, open_upload_bytes: defaultOpenUploadBytes };

/** Limits that operators stored in the table. */
interface Stored {
  default: Limits;
  depth: AllLimits["depth"];
  tenant?: Limits;
}

/** Limits from one source, and its name. */
type Source = readonly [limits: object | undefined, name: string];

const bySet = "set with `limits set`";
const deployment = "setting of the deployment";

/**
 * Returns a row for each limit: its name, the value in force, and where it comes from.
 * @param configured The deployment's own settings. Undefined: not known.
 */
export function limitRows(stored: Stored, configured: AllLimits | undefined, tenant: string | undefined): string[][] {
  const none = configured === undefined ? "not set; the deployment's own setting is not known" : "no limit";
  const everyone: Source[] = [
    [stored.default, bySet],
    [configured?.default, deployment],
  ];
  const own = tenant !== undefined && configured !== undefined && Object.hasOwn(configured.tenants, tenant);
  const ofTenant: Source[] = [
    [stored.tenant, bySet],
    [own ? configured.tenants[tenant] : undefined, deployment],
    ...everyone.map(([limits, name]) => [limits, `default, ${name}`] as const),
  ];
  const row = (label: string, field: string, sources: readonly Source[]) => {
    const unset = Object.hasOwn(ownLimits, field)
      ? [String(ownLimits[field as keyof typeof ownLimits]), "Offload's own limit"]
      : [configured === undefined ? "-" : "none", none];
    const [value, from] = inForce(field, sources) ?? unset;
    return [label, String(value ?? "none"), from];
  };
  const ofDepth: Source[] = [
    [stored.depth, bySet],
    [configured?.depth, deployment],
  ];
  return [
    ...limitNames.map((name) => row(`default ${name}`, name, everyone)),
    ...tiers.map((tier) => row(`depth ${tier}`, tier, ofDepth)),
    ...(tenant === undefined ? [] : limitNames.map((name) => row(`${tenant} ${name}`, name, ofTenant))),
  ];
}

/** The first source that has a value decides. A burst comes from the source that sets the rate. */
function inForce(field: string, sources: readonly Source[]): [value: unknown, from: string] | undefined {
  const deciding = field === "burst" ? "submits_per_second" : field;
  const limitIn = (limits: object | undefined, name: string) => (limits as Record<string, unknown> | undefined)?.[name];
  const source = sources.find(([limits]) => limitIn(limits, deciding) !== undefined);
  const value = limitIn(source?.[0], field);
  if (source === undefined) return undefined;
  return value === undefined ? ["as submits_per_second", source[1]] : [value, source[1]];
}
