import type { CountRequest } from "../core/limits/gate.ts";
import type { gateOf } from "./gate.ts";

/** Counts requests of control toward their tenants' rates. Its code loads with the first of them. */
export function lazyCountRequest(...given: Parameters<typeof gateOf>): CountRequest {
  let gate: Promise<ReturnType<typeof gateOf>> | undefined;
  return async (tenantId) => {
    gate ??= import("./gate.ts").then((loaded) => loaded.gateOf(...given));
    await (await gate).countRequest(tenantId);
  };
}
