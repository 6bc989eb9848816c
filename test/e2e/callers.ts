import { randomUUID } from "node:crypto";
import { Client, type Key } from "../support/http-client.ts";

/*
 * Who calls the Offload under test. Environment:
 * OFFLOAD_URL         base URL without trailing slash
 * OFFLOAD_KEYS        `token:tenant:role,...`; needs two operators of different tenants, a submitter of the first one's
 *                     tenant, and an admin of that tenant. Default: the keys of `npm start`
 * OFFLOAD_TIME_SCALE  by what the server multiplies its retry waits. Default: 1
 */

const localKeys = "dev-acme:acme:operator,dev-globex:globex:operator,dev-acme-sub:acme:submitter,dev-admin:acme:admin";

export const baseUrl = process.env.OFFLOAD_URL ?? "";
if (baseUrl === "") {
  throw new Error("OFFLOAD_URL is not set: the base URL of the Offload to test, such as http://127.0.0.1:3000");
}

/** Time limit of one request, in milliseconds: a busy machine answers late, which is no fault. */
export const requestTimeoutMs = 240_000;

const keys: Key[] = (process.env.OFFLOAD_KEYS || localKeys).split(",").map((entry) => {
  const [token = "", tenant = "", role = ""] = entry.trim().split(":");
  return { token, tenant, role };
});

function caller(who: string, fits: (key: Key) => boolean): Client {
  const key = keys.find(fits);
  if (key === undefined) throw new Error(`OFFLOAD_KEYS has no key of ${who}`);
  return new Client(baseUrl, key);
}

/** The usual caller: an operator. */
export const operator = caller("an operator", ({ role }) => role === "operator");
/** An operator of another tenant. */
export const stranger = caller(
  "an operator of a second tenant",
  ({ role, tenant }) => role === "operator" && tenant !== operator.tenant,
);
/** A submitter of the operator's tenant. */
export const submitter = caller(
  "a submitter of the first operator's tenant",
  ({ role, tenant }) => role === "submitter" && tenant === operator.tenant,
);
/** An admin of the operator's tenant. */
export const admin = caller(
  "an admin of the first operator's tenant",
  ({ role, tenant }) => role === "admin" && tenant === operator.tenant,
);
/** A caller without a key. */
export const anonymous = new Client(baseUrl);

/** By what the server multiplies its retry waits. */
export const timeScale = Number(process.env.OFFLOAD_TIME_SCALE || 1);

/** Tags that no other test has, and the query that lists tasks by them. */
export function uniqueTags(): { tags: Record<string, string>; query: string } {
  const value = randomUUID();
  return { tags: { e2e: value }, query: `tag.e2e=${value}` };
}
