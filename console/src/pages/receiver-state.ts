import type { ReceiverView } from "../../../src/api/acts/views.ts";

/** State of a receiver in a word, who or what brought it there, and since when. */
export interface ReceiverState {
  state: ReceiverView["health"];
  words: string;
  since: string | null;
}

/** A receiver that a person or Offload disabled gets no webhook, whatever its last tries were. */
export function receiverState({ enabled, health, failing_since, disabled_at }: ReceiverView): ReceiverState {
  if (health === "disabled") return { state: health, words: "by Offload", since: disabled_at };
  if (!enabled) return { state: "disabled", words: "by hand", since: null };
  return { state: health, words: "", since: failing_since };
}

/** Names in a text, with commas, spaces or lines between them. Null: it has none. */
export function namesIn(text: string): string[] | null {
  const names = text.split(/[\s,]+/).filter((name) => name !== "");
  return names.length === 0 ? null : names;
}

/** The JSON value of a delivery's body. Undefined: the body is cut, as it is longer than the log shows. */
export function bodyValue(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
