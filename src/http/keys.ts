import * as z from "zod";
import { expecting } from "../core/model/expected.ts";
import { roles } from "../core/model/identity.ts";
import { parseInput } from "../core/model/invalid.ts";
import { type ApiKey, isKeyId, newApiKey } from "../core/model/keys.ts";
import { Problem } from "../core/model/problem.ts";
import { iso } from "../core/model/record.ts";
import { requestClosedChannels } from "../core/notify/close-channels.ts";
import type { Notices } from "../core/ports/notify.ts";
import type { Clock, KeyStore } from "../core/ports/tasks.ts";
import { timeSchema } from "../core/submit/submit-body.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import type { KeyInfo } from "./views.ts";

/** Body of the request for a new key. */
export const newKeySchema = z.strictObject({
  role: z.enum(roles),
  label: z
    .string()
    .max(100)
    .regex(/^\P{Cc}*$/u, "expected printable characters")
    .optional(),
  expires_at: timeSchema.optional(),
});

export interface KeyPorts extends ApiPorts {
  clock: Clock;
  keys: KeyStore;
  notices: Pick<Notices, "send">;
  randomBytes: (count: number) => Uint8Array;
}

/** The handler that lists a tenant's keys. */
export const keyReads = ({ keys }: Pick<KeyPorts, "keys">) =>
  ({
    listKeys: async (call) => {
      const { tenantId } = identify(call, "admin");
      call.header("cache-control", "no-store");
      return call.json({ keys: (await keys.list(tenantId)).map(keyView) });
    },
  }) satisfies Partial<HandlersOf<"status">>;

/** Handlers that create and revoke a tenant's keys. */
export const keyWrites = (ports: KeyPorts) =>
  ({
    createKey: (call) => createAnswer(ports, call),
    revokeKey: (call) => revokeAnswer(ports, call),
  }) satisfies Partial<HandlersOf<"control">>;

async function createAnswer({ clock, keys, randomBytes }: KeyPorts, call: Call): Promise<Response> {
  const { tenantId } = identify(call, "admin");
  const read = async () => parseInput(newKeySchema, await jsonBody(call));
  const { role, label, expires_at: expiresAtMs } = await expecting(newKeySchema, read);
  if (expiresAtMs !== undefined && expiresAtMs <= clock.now()) {
    const fault = { path: "/expires_at", message: "expected a future time" };
    throw new Problem("invalid_input", "expires_at: expected a future time", { errors: [fault] });
  }
  const { key, token } = newApiKey(
    {
      tenant_id: tenantId,
      role,
      ...(label !== undefined && { label }),
      ...(expiresAtMs !== undefined && { expires_at: iso(expiresAtMs) }),
    },
    iso(clock.now()),
    randomBytes,
  );
  await call.get("addTarget")?.({ key_id: key.key_id, role });
  await keys.add(key);
  call.header("cache-control", "no-store");
  return call.json({ ...keyView(key), key: token }, 201);
}

/** A key of another tenant is answered as a key that does not exist. */
async function revokeAnswer({ clock, keys, notices }: KeyPorts, call: Call): Promise<Response> {
  const { tenantId, principal } = identify(call, "admin");
  const keyId = call.req.param("key_id") ?? "";
  if (keyId === principal) throw new Problem("conflict", "This request was made with that key. Use another one.");
  const known = isKeyId(keyId) ? await keys.find(keyId) : undefined;
  if (known?.tenant_id !== tenantId) throw new Problem("not_found", "No such key.");
  await call.get("addTarget")?.({ role: known.role });
  const revoked = await keys.revoke(keyId, iso(clock.now()));
  if (revoked === undefined) throw new Problem("not_found", "No such key.");
  await requestClosedChannels(notices, { tenant_id: tenantId, key_id: keyId });
  call.header("cache-control", "no-store");
  return call.json(keyView(revoked));
}

/** A key as clients see it: never its secret. */
export const keyView = (key: ApiKey): KeyInfo => ({
  key_id: key.key_id,
  tenant_id: key.tenant_id,
  role: key.role,
  label: key.label ?? null,
  created_at: key.created_at ?? null,
  last_used_at: key.last_used_at ?? null,
  expires_at: key.expires_at ?? null,
  revoked_at: key.revoked_at ?? null,
});
