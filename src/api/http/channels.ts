import { expecting } from "../../core/model/expected.ts";
import { channelSchema, type OpenChannelPorts, openChannel } from "../../core/notify/open-channel.ts";
import { type HandlersOf, identify } from "./api.ts";
import { optionalJsonBody } from "./body.ts";

/** The handler that opens channels. */
export const channelStarts = (ports: OpenChannelPorts) =>
  ({
    openChannel: async (call) => {
      const identity = identify(call);
      const view = await expecting(channelSchema, async () =>
        openChannel(ports, identity, await optionalJsonBody(call)),
      );
      // The URL is a secret: a program that has it hears the tasks.
      return call.unstored(view, 201);
    },
  }) satisfies Partial<HandlersOf<"control">>;
