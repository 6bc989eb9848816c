import type { Follow } from "../core/ports/notify.ts";

/** Loads what follows code, with the first wait of a process. */
export const loadFollow = async (): Promise<Follow> => (await import("./follow.ts")).follow;
