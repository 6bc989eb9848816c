import type { Identity } from "../../src/core/model/words.ts";

export const operator: Identity = { tenantId: "acme", principal: "olga", role: "operator" };
export const submitter: Identity = { tenantId: "acme", principal: "sam", role: "submitter" };
