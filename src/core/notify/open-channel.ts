import * as z from "zod";
import { parseInput } from "../model/invalid.ts";
import { hashSecret } from "../model/keys.ts";
import { Problem } from "../model/problem.ts";
import { iso } from "../model/record.ts";
import { type Identity, readsAs } from "../model/words.ts";
import type { Channels } from "../ports/notify.ts";
import type { Clock, NewId } from "../ports/tasks.ts";

/** Body of `POST /channels`. */
export const channelSchema = z.strictObject({ scope: z.enum(["own", "tenant"]).default("own") });

/** Time in which a ticket must be used, in seconds. */
const ticketSeconds = 60;

/** Most channels that a principal opens in a minute. Each is an item of the table, so a principal cannot fill it. */
export const maxChannelsAMinute = 300;

export interface OpenChannelPorts {
  clock: Clock;
  channels: Channels;
  newId: NewId;
  /** Returns a new secret text with at least 256 random bits, for the query of a URL. */
  newTicket: () => string;
  /** URL of the deployment's WebSocket API. Undefined: the deployment has no push. */
  socketUrl: string | undefined;
}

/** An opened channel. */
export interface ChannelView {
  channel_id: string;
  /** URL for one connection. It contains the ticket. */
  url: string;
  expires_at: string;
}

/**
 * Opens a channel. Its URL is for one connection within 60 seconds.
 * @throws Problem `invalid_input`, `forbidden`, `not_found`, `rate_limited`
 */
export async function openChannel(
  { clock, channels, newId, newTicket, socketUrl }: OpenChannelPorts,
  { tenantId, principal, role }: Identity,
  body: unknown,
): Promise<ChannelView> {
  const { scope } = parseInput(channelSchema, body);
  if (scope === "tenant" && !readsAs(role, "viewer")) {
    throw new Problem("forbidden", "A channel for all tasks of the tenant requires the role viewer.");
  }
  if (socketUrl === undefined) {
    throw new Problem("not_found", "This deployment has no channels. Set `push: true` on the TaskPipeline construct.");
  }
  const now = clock.now();
  const channel = { channel_id: newId(), tenant_id: tenantId, principal, scope };
  const minute = Math.floor(now / 60_000);
  if (!(await channels.admit(channel, minute, maxChannelsAMinute))) {
    const retryAfterSeconds = Math.max(1, Math.ceil(((minute + 1) * 60_000 - now) / 1000));
    throw new Problem("rate_limited", `At most ${maxChannelsAMinute} channels can be opened in a minute.`, {
      retryAfterSeconds,
    });
  }
  const ticket = newTicket();
  const expiresAtMs = now + ticketSeconds * 1000;
  await channels.create(hashSecret(ticket), channel, expiresAtMs);
  return { channel_id: channel.channel_id, url: `${socketUrl}?ticket=${ticket}`, expires_at: iso(expiresAtMs) };
}
