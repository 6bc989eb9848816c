import { type DescribedApp, describeApp } from "./described-app.ts";

/*
 * Loads the project's task files in a process of their own, because a process never forgets a loaded module, and sends them to its
 * parent as data.
 */

export type Described = DescribedApp | { problem: string };

const described: Promise<Described> = describeApp(process.env.OFFLOAD_PROBES === "1").catch((error: unknown) => ({
  problem: error instanceof Error ? error.message : String(error),
}));

process.send?.(await described, () => process.exit(0));
