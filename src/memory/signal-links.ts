import type { SignalLink, SignalLinks } from "../core/ports/steps.ts";

/** Links in memory. Nothing deletes them. */
export class MemorySignalLinks implements SignalLinks {
  readonly #links = new Map<string, { link: SignalLink; expiresAtMs: number }>();

  async create(secretHash: string, link: SignalLink, expiresAtMs: number): Promise<void> {
    if (!this.#links.has(secretHash)) this.#links.set(secretHash, { link: { ...link }, expiresAtMs });
  }

  async find(secretHash: string, nowMs: number): Promise<SignalLink | undefined> {
    const found = this.#links.get(secretHash);
    return found === undefined || found.expiresAtMs <= nowMs ? undefined : { ...found.link };
  }
}
