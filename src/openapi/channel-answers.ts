import * as z from "zod";
import type { ChannelView } from "../core/notify/open-channel.ts";
import { sameAs, withName } from "./json-schema.ts";
import { id, time } from "./words.ts";

export const channel = withName(
  "Channel",
  sameAs<ChannelView>()(
    z.object({
      channel_id: id.describe("Id of the channel, for log lines."),
      url: z.url().describe("URL for one WebSocket connection. It needs no token, so it is a secret."),
      expires_at: time.describe("Time until which the URL works."),
    }),
  ),
);
