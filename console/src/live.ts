import { effect, signal } from "@preact/signals";
import { fileParts } from "../../src/client/late-parts.ts";
import { type ChannelMessage, subscribe } from "../../src/client/push.ts";
import { allTenants, chosenTenant, config, identity, may, transport } from "./session.ts";

/** The state of the channel. `off`: the deployment has no push, so pages read again and again. */
export const channelState = signal<"off" | "connecting" | "open">("off");

type Listener = (message: ChannelMessage) => void;
const listeners = new Set<Listener>();

/** Calls a function with each message of the channel, until the returned function is called. */
export function onMessage(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Keeps one channel open while somebody is signed in: all tasks of the tenant for operators, else the caller's own. */
export function keepChannel(): void {
  effect(() => {
    chosenTenant.value;
    // A channel is of one tenant.
    if (identity.value === undefined || config.value?.push !== true || chosenTenant.value === allTenants) {
      channelState.value = "off";
      return;
    }
    const ended = new AbortController();
    void hear(ended.signal);
    return () => ended.abort();
  });
}

async function hear(signal: AbortSignal): Promise<void> {
  channelState.value = "connecting";
  try {
    for await (const message of subscribe(fileParts, transport(), {
      scope: may("viewer") ? "tenant" : "own",
      signal,
    })) {
      if (message.type === "channel.open") channelState.value = "open";
      else if (message.type === "channel.closed") channelState.value = "connecting";
      for (const listener of listeners) listener(message);
    }
  } catch {
    if (!signal.aborted) channelState.value = "off";
  }
}
