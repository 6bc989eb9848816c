import * as z from "zod";
import type { ChannelView } from "../core/notify/open-channel.ts";
import { sameAs, withName } from "./json-schema.ts";

export const channel = withName(
  "Channel",
  sameAs<ChannelView>()(z.object({ channel_id: z.uuid(), url: z.url(), expires_at: z.iso.datetime() })),
);
