import * as z from "zod";
import { type ApiKey, isKeyId, newApiKey } from "../../core/model/keys.ts";
import { Problem } from "../../core/model/problem.ts";
import { iso } from "../../core/model/record.ts";
import { roles } from "../../core/model/words.ts";
import { requestClosedChannels } from "../../core/notify/connect.ts";
import { timeSchema } from "../../core/pipeline/submit/submit-body.ts";
import type { Notices } from "../../core/ports/notify.ts";
import type { Clock, KeyStore } from "../../core/ports/tasks.ts";
import { type Asked, on, type TextsOf } from "./act.ts";
import { keyView } from "./key-view.ts";

export interface KeyPorts {
  clock: Clock;
  keys: KeyStore;
  notices: Pick<Notices, "send">;
  randomBytes: (count: number) => Uint8Array;
}

export const acts = () => ({
  createKey: on<KeyPorts, string>({ role: "admin", find: (_, { by }) => by.tenantId })({
    body: z.strictObject({
      role: z.enum(roles),
      label: z
        .string()
        .max(100)
        .regex(/^\P{Cc}*$/u, "expected printable characters")
        .optional(),
      inputs: z.boolean().optional(),
      expires_at: timeSchema.optional(),
    }),
    run: async ({ clock, keys, randomBytes }, tenant_id, body, { addTarget }) => {
      const { role, inputs, label, expires_at: expiresAtMs } = body;
      if (inputs === true && role !== "viewer") throw ofViewersOnly();
      const nowMs = clock.now();
      if (expiresAtMs !== undefined && expiresAtMs <= nowMs) throw mustBeFuture();
      const expires = expiresAtMs === undefined ? {} : { expires_at: iso(expiresAtMs) };
      const read = inputs === true ? { inputs } : {};
      const given = { tenant_id, role, ...read, ...(label !== undefined && { label }), ...expires };
      const { key, token } = newApiKey(given, iso(nowMs), randomBytes);
      await addTarget({ key_id: key.key_id, role });
      await keys.add(key);
      return { status: 201, json: { ...keyView(key), key: token } };
    },
  }),
  revokeKey: on<KeyPorts, ApiKey>({ role: "admin", find: keyIn })({
    run: async ({ clock, keys, notices }, { key_id, tenant_id, role }, _, { addTarget }) => {
      await addTarget({ role });
      const revoked = await keys.revoke(key_id, iso(clock.now()));
      if (revoked === undefined) throw noSuchKey();
      await requestClosedChannels(notices, { tenant_id, key_id });
      return { json: keyView(revoked) };
    },
  }),
});

/** A key of another tenant is answered as a key that does not exist. */
async function keyIn({ keys }: KeyPorts, { by, params: { key_id: keyId = "" } }: Asked): Promise<ApiKey> {
  if (keyId === by.principal) throw new Problem("conflict", "This request was made with that key. Use another one.");
  const known = isKeyId(keyId) ? await keys.find(keyId) : undefined;
  if (known?.tenant_id !== by.tenantId) throw noSuchKey();
  return known;
}

const noSuchKey = () => new Problem("not_found", "No such key.");

function ofViewersOnly(): Problem {
  const fault = { path: "/inputs", message: "expected only for the role viewer: other roles need no permission" };
  return new Problem("invalid_input", `inputs: ${fault.message}`, { errors: [fault] });
}

function mustBeFuture(): Problem {
  const fault = { path: "/expires_at", message: "expected a future time" };
  return new Problem("invalid_input", "expires_at: expected a future time", { errors: [fault] });
}

const ofTenant = "Of the caller's tenant, or of the one that `tenant` names.";

export const texts: TextsOf<ReturnType<typeof acts>> = {
  createKey: {
    route: "POST /keys",
    notes: ["body"],
    summary: "Create an API key",
    description: [ofTenant, "Only this answer has the key. A repeated request creates another one."],
    body: "NewKeyRequest",
    example: { role: "operator", label: "night shift" },
    answers: { 201: ["NewKey", "The key."] },
  },
  revokeKey: {
    route: "DELETE /keys/{key_id}",
    summary: "Revoke an API key",
    description: [
      ofTenant,
      "The key stops working within 60 s. A key that revokes itself gets 409. The request can be repeated.",
    ],
    answers: { 200: ["Key", "The revoked key."] },
    problems: ["conflict"],
  },
};
