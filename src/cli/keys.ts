import { randomBytes } from "node:crypto";
import { type Command, InvalidArgumentError, Option } from "commander";
import { DynamoKeyStore } from "../aws/key-store.ts";
import { type Role, roleInWords, roles } from "../core/model/identity.ts";
import { type ApiKey, newApiKey, parseApiKey } from "../core/model/keys.ts";
import { onTable, type TableOptions, tableHelp, tenantId, withTableOptions } from "./deployment.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";
import { recordAct } from "./table-audit.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

const examples = `${tableHelp}
Examples:
  npx offload keys create --tenant acme --role submitter --label "web shop" --expires 90d
  KEY=$(npx offload keys create --tenant acme --role operator)
  npx offload keys list --tenant acme
  npx offload keys revoke q7mzk2vxw4t9bnsd
`;

/** `offload keys create|list|revoke` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addCreate(command, terminal);
  addList(command, terminal);
  addRevoke(command, terminal);
};

interface CreateOptions extends TableOptions {
  tenant: string;
  role: Role;
  inputs?: true;
  label?: string;
  expires?: number;
}

function addCreate(command: Command, terminal: Terminal): void {
  withTableOptions(command.command("create"))
    .description("create a key and print it; it cannot be shown again")
    .requiredOption("--tenant <id>", "tenant of the key", tenantId)
    .addOption(new Option("--role <role>", "role of the key").choices(roles).makeOptionMandatory())
    .option("--inputs", "the key of a viewer may read inputs and logs")
    .option("--label <text>", "text that the list of keys shows", label)
    .option(
      "--expires <when>",
      "a time such as 2027-03-01, or a duration such as 90d, 12h, 30m, 45s; default: never",
      spanOrTime,
    )
    .action(async (options: CreateOptions) => {
      if (options.inputs && options.role !== "viewer") {
        throw new CommandFailed(`--inputs is for the role viewer: the role ${options.role} needs no permission`);
      }
      const now = Date.now();
      const expiresAt = options.expires === undefined ? undefined : new Date(options.expires).toISOString();
      const { key, token } = newApiKey(
        {
          tenant_id: options.tenant,
          role: options.role,
          ...(options.inputs && { inputs: true }),
          ...(options.label === undefined ? {} : { label: options.label }),
          ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
        },
        new Date(now).toISOString(),
        randomBytes,
      );
      await onTable(options, async (table) => {
        const { key_id, role, tenant_id: tenant } = key;
        await recordAct(table, { tenant, action: "keys create", target: { key_id, role } });
        await new DynamoKeyStore(table).add(key);
      });
      if (options.json) return terminal.out(JSON.stringify({ key: token, ...shown(key) }, null, 2));
      terminal.out(token);
      const until = expiresAt === undefined ? "until it is revoked" : `until ${expiresAt}`;
      terminal.note(
        `Key ${key.key_id} has role ${key.role} in tenant ${key.tenant_id} ${until}. It cannot be shown again.`,
      );
    });
}

function addList(command: Command, terminal: Terminal): void {
  withTableOptions(command.command("list"))
    .description("list keys, without their secrets")
    .option("--tenant <id>", "only keys of this tenant; default: all tenants", tenantId)
    .option("--utc", "print exact times in place of ages")
    .action(async (options: TableOptions & { tenant?: string; utc?: boolean }) => {
      const found = await onTable(options, async (table) => {
        const store = new DynamoKeyStore(table);
        const keys: ApiKey[] = [];
        for (const tenant of options.tenant === undefined ? await store.tenants() : [options.tenant]) {
          keys.push(...(await store.list(tenant)));
        }
        return keys;
      });
      if (options.json) return terminal.out(JSON.stringify({ keys: found.map(shown) }, null, 2));
      if (found.length === 0) return terminal.note("There are no keys.");
      const now = new Date().toISOString();
      const rows = found.map((key) => [
        key.key_id,
        key.tenant_id,
        roleInWords(key),
        stateOf(key, now),
        key.label,
        key.created_at,
        key.last_used_at,
        key.expires_at,
      ]);
      terminal.out(
        table(
          ["key id", "tenant", "role", "state", "label", "created", "last used", "expires"],
          rows,
          terminal,
          options,
        ),
      );
    });
}

function addRevoke(command: Command, terminal: Terminal): void {
  withTableOptions(command.command("revoke"))
    .description("revoke a key; takes effect within 60 s")
    .argument("<key id>", "the key's id, or the whole key", keyId)
    .action(async (id: string, options: TableOptions) => {
      const key = await onTable(options, async (table) => {
        const store = new DynamoKeyStore(table);
        const tenant = (await store.find(id))?.tenant_id;
        if (tenant === undefined) return undefined;
        await recordAct(table, { tenant, action: "keys revoke", target: { key_id: id } });
        return store.revoke(id, new Date().toISOString());
      });
      if (key === undefined) throw new CommandFailed(`there is no key ${id}`);
      if (options.json) return terminal.out(JSON.stringify(shown(key), null, 2));
      terminal.out(
        `Key ${id} of tenant ${key.tenant_id} is revoked. The API refuses it in 60 s at the latest. Channels that it has open stay so, for 2 hours at most; a revoke by the API closes them.`,
      );
    });
}

/** A key without the hash of its secret. */
const shown = ({ secret_hash: _, ...rest }: ApiKey) => rest;

function stateOf(key: ApiKey, nowIso: string): string {
  if (key.revoked_at !== undefined) return "revoked";
  return key.expires_at !== undefined && key.expires_at <= nowIso ? "expired" : "active";
}

function label(text: string): string {
  if (text.length <= 100 && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError("Expected at most 100 printable characters.");
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Parses a future time, or a duration from now. Returns epoch milliseconds. */
function spanOrTime(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() + Number(count) * (unitSeconds[unit] ?? 0) * 1000;
  if (/^\d/.test(text) && at > Date.now() && at < 8.64e15) return at;
  throw new InvalidArgumentError(
    "Expected a future time such as 2027-03-01, or a duration such as 90d, 12h, 30m, 45s.",
  );
}

function keyId(text: string): string {
  const id = parseApiKey(text)?.keyId ?? text;
  if (/^[A-Za-z0-9]{8,32}$/.test(id)) return id;
  throw new InvalidArgumentError("Expected a key id, as `keys list` shows it, or a whole key.");
}
