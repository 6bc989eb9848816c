import { InvalidArgumentError } from "commander";
import { DynamoKeyStore } from "../../aws/key-store.ts";
import { type ApiKey, parseApiKey } from "../../core/model/keys.ts";
import { roleInWords, roles } from "../../core/model/words.ts";
import { durationSeconds } from "../../util/duration.ts";
import { things } from "./answer.ts";
import { onTable, tableHelp, tableOptions, tenantId } from "./deployed-table.ts";
import type { Group, Register } from "./group.ts";
import { addKey, revokeKey } from "./table-acts.ts";
import { CommandFailed } from "./terminal.ts";

const examples = `${tableHelp}
Examples:
  npx offload keys create --tenant acme --role submitter --label "web shop" --expires 90d
  KEY=$(npx offload keys create --tenant acme --role operator)
  npx offload keys list --tenant acme
  npx offload keys revoke q7mzk2vxw4t9bnsd
`;

const newKey = [
  ["--tenant <id>", "tenant of the key", { read: tenantId, required: true }],
  ["--role <role>", "role of the key", { among: roles, required: true }],
  ["--inputs", "the key of a viewer may read inputs and logs"],
  ["--label <text>", "text that the list of keys shows", label],
  [
    "--expires <when>",
    "a time such as 2027-03-01, or a duration such as 90d, 12h, 30m, 45s; default: never",
    spanOrTime,
  ],
] as const;

/** `offload keys create|list|revoke` */
export const register: Register = (group) => {
  group.help(examples);
  addCreate(group);
  addList(group);
  addRevoke(group);
};

function addCreate(group: Group): void {
  const about = "create a key and print it; it cannot be shown again";
  group.add("create", about, [...tableOptions, ...newKey], async (options) => {
    const { inputs, role, tenant, label, expires } = options;
    if (inputs && role !== "viewer") {
      throw new CommandFailed(`--inputs is for the role viewer: the role ${role} needs no permission`);
    }
    const expires_at = expires === undefined ? undefined : new Date(expires).toISOString();
    const given = {
      ...{ tenant_id: tenant, role },
      ...(inputs && { inputs }),
      ...(label !== undefined && { label }),
      ...(expires_at !== undefined && { expires_at }),
    };
    const { key, token } = await onTable(options, (table) => addKey(table, given));
    const until = expires_at === undefined ? "until it is revoked" : `until ${expires_at}`;
    const hint = `Key ${key.key_id} has role ${role} in tenant ${tenant} ${until}. It cannot be shown again.`;
    return { json: { key: token, ...shown(key) }, text: token, hint };
  });
}

function addList(group: Group): void {
  const own = [
    ["--tenant <id>", "only keys of this tenant; default: all tenants", tenantId],
    ["--utc", "print exact times in place of ages"],
  ] as const;
  group.add("list", "list keys, without their secrets", [...tableOptions, ...own], async (options) => {
    const found = await onTable(options, async (table) => {
      const store = new DynamoKeyStore(table);
      const keys: ApiKey[] = [];
      for (const tenant of options.tenant === undefined ? await store.tenants() : [options.tenant]) {
        keys.push(...(await store.list(tenant)));
      }
      return keys.map(shown);
    });
    if (found.length === 0 && !options.json) {
      group.terminal.note("There are no keys.");
      return;
    }
    const now = new Date().toISOString();
    return things({ keys: found }, "", {
      ...{ "key id": "key_id", tenant: "tenant_id", role: roleInWords, state: (key) => stateOf(key, now) },
      ...{ label: "label", created: "created_at", "last used": "last_used_at", expires: "expires_at" },
    });
  });
}

function addRevoke(group: Group): void {
  const id = ["<key id>", "the key's id, or the whole key", keyId] as const;
  const about = "revoke a key; takes effect within 60 s";
  group.add("revoke", about, [...tableOptions, id], async (options, id) => {
    const key = await onTable(options, (table) => revokeKey(table, id));
    if (key === undefined) throw new CommandFailed(`there is no key ${id}`);
    const text = `Key ${id} of tenant ${key.tenant_id} is revoked. The API refuses it in 60 s at the latest. Channels that it has open stay so, for 2 hours at most; a revoke by the API closes them.`;
    return { json: shown(key), text };
  });
}

/** A key without the hash of its secret. */
const shown = ({ secret_hash: _, ...rest }: ApiKey) => rest;

function stateOf(key: Pick<ApiKey, "revoked_at" | "expires_at">, nowIso: string): string {
  if (key.revoked_at !== undefined) return "revoked";
  return key.expires_at !== undefined && key.expires_at <= nowIso ? "expired" : "active";
}

function label(text: string): string {
  if (text.length <= 100 && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError("Expected at most 100 printable characters.");
}

/** Parses a future time, or a duration from now. Returns epoch milliseconds. */
function spanOrTime(text: string): number {
  const seconds = /^\d{1,6}[smhd]$/.test(text) ? durationSeconds(text) : undefined;
  const at = seconds === undefined ? Date.parse(text) : Date.now() + seconds * 1000;
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
