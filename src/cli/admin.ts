import { type Command, InvalidArgumentError, Option } from "commander";
import { Admin, type KeyInfo, type NewLimit, type TenantLimits } from "../client/index.ts";
import { type Role, roleInWords, roles } from "../core/model/identity.ts";
import { type Connection, connectionOf, count, take, withAdminKey, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { type Looks, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const examples = `
These commands use the API with an admin's key. \`keys\` and \`limits\` work on the table itself, with AWS credentials: the first
key of a deployment, limits of tiers and the default of all tenants are made there.

Examples:
  npx offload admin tenants
  npx offload admin keys --tenant globex
  KEY=$(npx offload admin create-key --tenant globex --role operator)
  npx offload admin limits globex --tasks-in-progress 1000 --burst unset
  npx offload admin alarms

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time. The key must have the role admin.
`;

/** `offload admin tenants|limits|keys|create-key|revoke-key|alarms` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addTenants(command, terminal);
  addLimits(command, terminal);
  addKeys(command, terminal);
  addAlarms(command, terminal);
};

const adminOf = (options: Connection): Admin => new Admin(connectionOf(withAdminKey(options)));

/** Prints an answer: as JSON with `--json`, else as text. */
const say = (terminal: Terminal, { json }: Connection, answer: unknown, text: () => string): void =>
  terminal.out(json ? JSON.stringify(answer, null, 2) : text());

function addTenants(command: Command, terminal: Terminal): void {
  const list = command
    .command("tenants")
    .description("list the tenants that have a key or have submitted a task")
    .option("--limit <n>", "maximum number of tenants", count, 100);
  withConnection(list).action(async ({ limit, ...options }: Connection & { limit: number }) => {
    const { items, more } = await take(adminOf(options).tenants(), limit);
    const rows = items.map(({ tenant_id, open, retrying, dead_letters, complete, paused_since }) => [
      tenant_id,
      ...[open, retrying, dead_letters].map((number) => (complete ? number : `${number} or more`)),
      paused_since,
    ]);
    say(terminal, options, { tenants: items }, () =>
      items.length === 0
        ? "No tenants."
        : table(["tenant", "open", "retrying", "dead letters", "paused since"], rows, terminal, options),
    );
    if (more) terminal.note(`There are more than ${items.length}: raise --limit.`);
  });
}

/** Commander takes a null for no value. */
interface Given {
  to: NewLimit;
}

interface LimitOptions extends Connection {
  submitsPerSecond?: Given;
  burst?: Given;
  tasksInProgress?: Given;
  requestBytes?: Given;
  schedules?: Given;
}

function addLimits(command: Command, terminal: Terminal): void {
  const limits = command
    .command("limits <tenant>")
    .description('show the limits of a tenant, or change them: a number, "none" or "unset" (the default again)')
    .option("--submits-per-second <n>", "accepted submits per second, on average", newLimit)
    .option("--burst <n>", "submits accepted at once after a pause", newLimit)
    .option("--tasks-in-progress <n>", "accepted tasks that have not ended", newLimit)
    .option("--request-bytes <n>", "largest request body, in bytes", newLimit)
    .option("--schedules <n>", "schedules, without those of the app's code; default: 100", newLimit);
  withConnection(limits).action(async (tenant: string, options: LimitOptions) => {
    const { submitsPerSecond, burst, tasksInProgress, requestBytes, schedules } = options;
    const given = { submitsPerSecond, burst, tasksInProgress, requestBytes, schedules };
    const isChange = Object.values(given).some((limit) => limit !== undefined);
    const change = Object.fromEntries(Object.entries(given).map(([name, limit]) => [name, limit?.to]));
    const admin = adminOf(options);
    const answer = isChange ? await admin.setLimits(tenant, change) : await admin.limits(tenant);
    say(terminal, options, answer, () => limitTable(answer, terminal, options));
  });
}

/** @throws InvalidArgumentError */
function newLimit(text: string): Given {
  if (text === "none") return { to: null };
  if (text === "unset") return { to: text };
  if (/^\d+(\.\d+)?$/.test(text)) return { to: Number(text) };
  throw new InvalidArgumentError('Expected a number, "none" or "unset".');
}

function limitTable({ limits, in_force }: TenantLimits, terminal: Terminal, looks: Looks): string {
  const rows = Object.entries(in_force).map(([name, limit]) => [
    name,
    limit ?? "none",
    name in limits ? "the tenant" : "the deployment",
  ]);
  return rows.length === 0 ? "No limits." : table(["limit", "in force", "set for"], rows, terminal, looks);
}

function addKeys(command: Command, terminal: Terminal): void {
  const list = command.command("keys").description("list the API keys of a tenant, without their secrets");
  withConnection(list).action(async (options: Connection) => {
    const keys = await adminOf(options).keys();
    say(terminal, options, { keys }, () =>
      keys.length === 0 ? "There are no keys." : keyTable(keys, terminal, options),
    );
  });
  const create = command
    .command("create-key")
    .description("create an API key of a tenant and print it; it cannot be shown again")
    .addOption(new Option("--role <role>", "role of the key").choices(roles).makeOptionMandatory())
    .option("--inputs", "the key of a viewer may read inputs and logs")
    .option("--label <text>", "text that the list of keys shows")
    .option("--expires-at <time>", "the API refuses it from this time on (ISO 8601); default: it does not expire");
  withConnection(create).action(async ({ role, inputs, label, expiresAt, ...options }: Connection & KeyOptions) => {
    const made = await adminOf(options).createKey({ role, inputs, label, expiresAt });
    if (!options.json) terminal.note(`Key ${made.key_id} of tenant ${made.tenant_id}, role ${role}:`);
    say(terminal, options, made, () => made.key);
  });
  const revoke = command.command("revoke-key <key_id>").description("revoke an API key; takes effect within 60 s");
  withConnection(revoke).action(async (id: string, options: Connection) => {
    const revoked = await adminOf(options).revokeKey(id);
    say(terminal, options, revoked, () => `Key ${id} of tenant ${revoked.tenant_id} is revoked.`);
  });
}

interface KeyOptions {
  role: Role;
  inputs?: boolean;
  label?: string;
  expiresAt?: string;
}

function keyTable(keys: readonly KeyInfo[], terminal: Terminal, looks: Looks): string {
  const rows = keys.map((key) => [
    key.key_id,
    roleInWords(key),
    key.label,
    key.created_at,
    key.last_used_at,
    key.expires_at,
    key.revoked_at,
  ]);
  return table(["key id", "role", "label", "created", "last used", "expires", "revoked"], rows, terminal, looks);
}

function addAlarms(command: Command, terminal: Terminal): void {
  const alarms = command.command("alarms").description("list the deployment's alarms; a local server has none");
  withConnection(alarms).action(async (options: Connection) => {
    const answer = await adminOf(options).alarms();
    const rows = answer.map(({ name, state, since, description }) => [name, state, since, description]);
    say(terminal, options, { alarms: answer }, () =>
      rows.length === 0 ? "No alarms." : table(["alarm", "state", "since", "description"], rows, terminal, options),
    );
  });
}
