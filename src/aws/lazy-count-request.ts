import type { CountRequest } from "../core/limits/gate.ts";
import { lazily } from "../util/lazily.ts";
import type { gateOf } from "./gate.ts";

/** Counts requests of control toward their tenants' rates. Its code loads with the first of them. */
export function lazyCountRequest(...given: Parameters<typeof gateOf>): CountRequest {
  const gate = lazily(async () => (await import("./gate.ts")).gateOf(...given));
  return async (tenantId) => (await gate()).countRequest(tenantId);
}
