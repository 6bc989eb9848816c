import { Problem } from "../../core/model/problem.ts";
import type { Receiver, ReceiverKey } from "../../core/ports/webhooks.ts";
import { type Asked, isUuid } from "./act.ts";
import type { ReceiverView } from "./views.ts";

/** @throws Problem `not_found` */
export function receiverIn(_: unknown, { by, params }: Asked): ReceiverKey {
  const { webhook_id = "" } = params;
  if (!isUuid(webhook_id)) throw new Problem("not_found", "There is no receiver of webhooks with this id.");
  return { tenant_id: by.tenantId, webhook_id };
}

export const receiverView = (receiver: Receiver): ReceiverView => ({
  webhook_id: receiver.webhook_id,
  url: receiver.url,
  events: [...receiver.events],
  types: receiver.types === null ? null : [...receiver.types],
  description: receiver.description,
  enabled: receiver.enabled,
  health:
    receiver.disabled_at !== undefined ? "disabled" : receiver.failing_since === undefined ? "healthy" : "failing",
  failing_since: receiver.failing_since ?? null,
  disabled_at: receiver.disabled_at ?? null,
  created_by: receiver.created_by,
  created_at: receiver.created_at,
  updated_at: receiver.updated_at,
});
