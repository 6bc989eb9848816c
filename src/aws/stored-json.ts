import { WrittenLater } from "../core/model/errors.ts";

/**
 * Reads stored JSON text.
 * @param form Its kind, without ids.
 * @throws WrittenLater for a value that is no JSON text, as a later release may pack it
 */
export function storedJson(text: unknown, form: string): unknown {
  try {
    if (typeof text === "string") return JSON.parse(text);
  } catch {}
  throw new WrittenLater(form);
}
