import { type Command, InvalidArgumentError } from "commander";
import { DynamoLimitEditor } from "../aws/limit-editor.ts";
import { type DepthBounds, depthSchema, type Limits, limitNames, limitsSchema } from "../core/limits/limits.ts";
import { tiers } from "../core/tier.ts";
import { type Deployment, onTable, tenantId, whereItWorks, withDeployment } from "./deployment.ts";
import type { Register } from "./register.ts";
import { fields } from "./table.ts";
import { Misuse, type Terminal } from "./terminal.ts";

const examples = `${whereItWorks}
A bound is a number, "none" for no bound whatever the default says, or "unset" to leave it to the default again. A change
holds within ten seconds. What the deployment's own settings say (OFFLOAD_LIMITS) is below all of this.

Examples:
  npx offload limits set --tenant acme --submits-per-second 20 --burst 40 --tasks-in-progress 1000
  npx offload limits set --default --submits-per-second 100
  npx offload limits set --depth low=5000 --depth critical=none
  npx offload limits show --tenant acme
`;

/** `offload limits set|show` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addSet(command, terminal);
  addShow(command, terminal);
};

/** A bound as it is typed; undefined takes it away. */
type Bound = number | null | undefined;

interface SetOptions extends Deployment {
  tenant?: string;
  default?: boolean;
  depth?: Record<string, Bound>;
  submitsPerSecond?: { to: Bound };
  burst?: { to: Bound };
  tasksInProgress?: { to: Bound };
  requestBytes?: { to: Bound };
}

function addSet(command: Command, terminal: Terminal): void {
  const one = (text: string) => ({ to: bound(text) });
  withDeployment(command.command("set"))
    .description("change limits; what is not named stays")
    .option("--tenant <id>", "limits of this tenant", tenantId)
    .option("--default", "limits of every tenant that has none of its own")
    .option("--submits-per-second <n>", "accepted submits a second in the long run", one)
    .option("--burst <n>", "submits at once after a pause; default: those of one second", one)
    .option("--tasks-in-progress <n>", "tasks accepted and not ended", one)
    .option("--request-bytes <n>", "largest request body", one)
    .option("--depth <tier=n>", "messages in a tier before submits to it are refused; repeatable", depth)
    .action(async (options: SetOptions) => {
      const changes = changesOf(options);
      checkTarget(options, changes);
      const after = await onTable(options, async (documents, name) => {
        const editor = new DynamoLimitEditor(documents, name);
        if (Object.keys(changes).length > 0) await change(editor, options.tenant, changes);
        if (options.depth !== undefined) {
          const before = (await editor.ofDeployment())?.depth;
          await editor.setDepth(checked(depthSchema, { ...before, ...options.depth }));
        }
        return stored(editor, options.tenant);
      });
      show(terminal, after, options);
    });
}

function changesOf(options: SetOptions): Record<string, Bound> {
  const given = {
    submits_per_second: options.submitsPerSecond,
    burst: options.burst,
    tasks_in_progress: options.tasksInProgress,
    request_bytes: options.requestBytes,
  };
  return Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value ? [[name, value.to]] : [])));
}

function checkTarget({ tenant, default: all, depth: depths }: SetOptions, changes: Record<string, Bound>): void {
  const any = Object.keys(changes).length > 0;
  if (!any && depths === undefined) throw new Misuse("nothing to set: give a limit, or --depth");
  if (any && (tenant === undefined) === (all !== true))
    throw new Misuse("whose limits? Give either --tenant or --default");
}

async function change(editor: DynamoLimitEditor, tenant: string | undefined, changes: Record<string, Bound>) {
  const before = tenant === undefined ? (await editor.ofDeployment())?.default : await editor.ofTenant(tenant);
  const after = checked(limitsSchema, { ...before, ...changes });
  await (tenant === undefined ? editor.setDefault(after) : editor.setTenant(tenant, after));
}

function checked<T>(
  schema: { safeParse(value: unknown): { data?: T; error?: { issues: { path: PropertyKey[]; message: string }[] } } },
  value: unknown,
): T {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  const issue = error?.issues[0];
  throw new Misuse(`${issue?.path.join(".")}: ${issue?.message}`);
}

function addShow(command: Command, terminal: Terminal): void {
  withDeployment(command.command("show"))
    .description("show what is set")
    .option("--tenant <id>", "also the limits of this tenant", tenantId)
    .action(async (options: Deployment & { tenant?: string }) => {
      const found = await onTable(options, (documents, name) =>
        stored(new DynamoLimitEditor(documents, name), options.tenant),
      );
      show(terminal, found, options);
    });
}

interface Stored {
  default: Limits;
  depth: DepthBounds;
  tenant?: Limits;
}

async function stored(editor: DynamoLimitEditor, tenant: string | undefined): Promise<Stored> {
  const { default: all, depth: depths } = (await editor.ofDeployment()) ?? { default: {}, depth: {} };
  return {
    default: all,
    depth: depths,
    ...(tenant === undefined ? {} : { tenant: (await editor.ofTenant(tenant)) ?? {} }),
  };
}

function show(terminal: Terminal, found: Stored, { tenant, json }: { tenant?: string; json?: boolean }): void {
  const word = (value: Bound) => (value === undefined ? "-" : (value ?? "none"));
  const rows = [
    ...limitNames.map((name) => [`default ${name}`, word(found.default[name])] as const),
    ...tiers.map((tier) => [`depth ${tier}`, word(found.depth[tier])] as const),
    ...(tenant === undefined
      ? []
      : limitNames.map((name) => [`${tenant} ${name}`, word(found.tenant?.[name])] as const)),
  ];
  terminal.out(json ? JSON.stringify(found, null, 2) : fields(rows));
}

/** A number, `none`, or `unset`. */
function bound(text: string): Bound {
  if (text === "none") return null;
  if (text === "unset") return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a number, "none" or "unset".');
}

function depth(text: string, before: Record<string, Bound> = {}): Record<string, Bound> {
  const [tier = "", value = ""] = text.split("=");
  if (!tiers.some((known) => known === tier))
    throw new InvalidArgumentError(`Expected one of ${tiers.join(", ")}, =, and a number.`);
  return { ...before, [tier]: bound(value) };
}
