import type { ApiKey } from "../../core/model/keys.ts";
import type { KeyInfo } from "./views.ts";

/** A key as clients see it: never its secret. */
export const keyView = (key: ApiKey): KeyInfo => ({
  key_id: key.key_id,
  tenant_id: key.tenant_id,
  role: key.role,
  inputs: key.inputs === true,
  label: key.label ?? null,
  created_at: key.created_at ?? null,
  last_used_at: key.last_used_at ?? null,
  expires_at: key.expires_at ?? null,
  revoked_at: key.revoked_at ?? null,
});
