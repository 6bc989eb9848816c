import { Session } from "node:inspector/promises";

/** The code of `src/core` that ran, by V8's own counts. */
export interface CorePath {
  /** From `src/core`, in order of their names. */
  files: string[];
  /** Functions with a name, each as `file name`. Module code and functions without a name are not counted. */
  functions: string[];
}

/** Runs something, and tells which files and functions of the core ran meanwhile. */
export async function corePathOf(run: () => Promise<unknown>): Promise<CorePath> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await run();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const files = new Set<string>();
    const functions = new Set<string>();
    for (const { url, functions: counted } of result) {
      const file = url.split("/src/core/")[1];
      if (file === undefined) continue;
      for (const { functionName, ranges } of counted) {
        if ((ranges[0]?.count ?? 0) === 0) continue;
        files.add(file);
        if (functionName !== "") functions.add(`${file} ${functionName}`);
      }
    }
    return { files: [...files].sort(), functions: [...functions].sort() };
  } finally {
    session.disconnect();
  }
}
