import type { Follow } from "../core/ports/push.ts";

/** Loads what follows code, with the first wait of a process. */
export const loadFollow = async (): Promise<Follow> => (await import("./follow.ts")).follow;
