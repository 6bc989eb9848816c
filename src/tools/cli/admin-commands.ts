import { InvalidArgumentError } from "commander";
import { Admin, type NewLimit } from "../../client/index.ts";
import { roleInWords, roles } from "../../core/model/words.ts";
import { firstOf, listText, things } from "./answer.ts";
import { type Connection, connection, connectionOf, limit, withAdminKey } from "./connection.ts";
import type { Group, Register } from "./group.ts";
import { valuesOf } from "./options.ts";

const examples = `
These commands use the API with an admin's key. \`keys\` and \`limits\` work on the table itself, with AWS credentials: the first
key of a deployment, limits of tiers and the default of all tenants are made there.

Examples:
  npx offload admin tenants
  npx offload admin keys --tenant globex
  KEY=$(npx offload admin create-key --tenant globex --role operator)
  npx offload admin limits globex --tasks-in-progress 1000 --burst unset
  npx offload admin alarms
`;

/** `offload admin tenants|limits|keys|create-key|revoke-key|alarms` */
export const register: Register = (group) => {
  group.help(examples, "admin");
  addTenants(group);
  addLimits(group);
  addKeys(group);
  group.add("alarms", "list the deployment's alarms; a local server has none", connection, async (options) =>
    things({ alarms: await adminOf(options).alarms() }, "No alarms.", {
      ...{ alarm: "name", state: "state", since: "since", description: "description" },
    }),
  );
};

const adminOf = (options: Connection): Admin => new Admin(connectionOf(withAdminKey(options)));

function addTenants(group: Group): void {
  const about = "list the tenants that have a key or have submitted a task";
  group.add("tenants", about, [limit("tenants", 100), ...connection], (options) => {
    const tenants = adminOf(options).tenants();
    const known = (number: number, { complete }: { complete: boolean }) => (complete ? number : `${number} or more`);
    return firstOf(tenants, options.limit, {
      json: "tenants",
      none: "No tenants.",
      columns: {
        tenant: "tenant_id",
        open: (tenant) => known(tenant.open, tenant),
        retrying: (tenant) => known(tenant.retrying, tenant),
        "dead letters": (tenant) => known(tenant.dead_letters, tenant),
        "paused since": "paused_since",
      },
    });
  });
}

const changes = [
  ["--submits-per-second <n>", "accepted submits per second, on average", newLimit],
  ["--burst <n>", "submits accepted at once after a pause", newLimit],
  ["--tasks-in-progress <n>", "accepted tasks that have not ended", newLimit],
  ["--request-bytes <n>", "largest request body, in bytes", newLimit],
  ["--schedules <n>", "schedules, without those of the app's code; default: 100", newLimit],
] as const;

function addLimits(group: Group): void {
  const about = 'show the limits of a tenant, or change them: a number, "none" or "unset" (the default again)';
  group.add("limits", about, [["<tenant>"], ...changes, ...connection], async (options, tenant) => {
    const given = Object.entries(valuesOf(changes, options));
    const change = Object.fromEntries(given.map(([name, limit]) => [name, limit.to]));
    const admin = adminOf(options);
    const answer = await (given.length > 0 ? admin.setLimits(tenant, change) : admin.limits(tenant));
    const own = (name: string) => (name in answer.limits ? "the tenant" : "the deployment");
    const rows = Object.entries(answer.in_force).map(([limit, value]) => ({
      limit,
      value: value ?? "none",
      from: own(limit),
    }));
    const columns = { limit: "limit", "in force": "value", "set for": "from" } as const;
    return { json: answer, text: listText(rows, "No limits.", columns) };
  });
}

/** Parses a number, `none` or `unset`. @throws InvalidArgumentError */
export function newLimit(text: string): { to: NewLimit } {
  // Commander takes a null for no value.
  if (text === "none") return { to: null };
  if (text === "unset") return { to: text };
  if (/^\d+(\.\d+)?$/.test(text)) return { to: Number(text) };
  throw new InvalidArgumentError('Expected a number, "none" or "unset".');
}

const newKey = [
  ["--role <role>", "role of the key", { among: roles, required: true }],
  ["--inputs", "the key of a viewer may read inputs and logs"],
  ["--label <text>", "text that the list of keys shows"],
  ["--expires-at <time>", "the API refuses it from this time on (ISO 8601); default: it does not expire"],
] as const;

function addKeys(group: Group): void {
  group.add("keys", "list the API keys of a tenant, without their secrets", connection, async (options) =>
    things({ keys: await adminOf(options).keys() }, "There are no keys.", {
      ...{ "key id": "key_id", role: roleInWords, label: "label", created: "created_at" },
      ...{ "last used": "last_used_at", expires: "expires_at", revoked: "revoked_at" },
    }),
  );
  const about = "create an API key of a tenant and print it; it cannot be shown again";
  group.add("create-key", about, [...newKey, ...connection], async (options) => {
    const made = await adminOf(options).createKey(valuesOf(newKey, options));
    const { key_id, tenant_id, role, key } = made;
    if (!options.json) group.terminal.note(`Key ${key_id} of tenant ${tenant_id}, role ${role}:`);
    return { json: made, text: key };
  });
  const revokes = "revoke an API key; takes effect within 60 s";
  group.add("revoke-key", revokes, [["<key_id>"], ...connection], async (options, id) => {
    const revoked = await adminOf(options).revokeKey(id);
    return { json: revoked, text: `Key ${id} of tenant ${revoked.tenant_id} is revoked.` };
  });
}
