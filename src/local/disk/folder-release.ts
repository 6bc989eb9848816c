import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageVersion } from "../../installed/installation.ts";
import { isLaterRelease } from "../../settings/releases.ts";

/** The file in the state folder that names the release which wrote to it last. */
const fileName = "release";

/** The release that wrote to a state folder last. Undefined: no release has noted itself there. */
function releaseOf(stateDir: string): string | undefined {
  try {
    return readFileSync(join(stateDir, fileName), "utf8").trim();
  } catch {
    return undefined;
  }
}

/**
 * Notes this release in the state folder, and says when another one has written to it.
 * @throws Error in one sentence when a later release has
 */
export function noteRelease(stateDir: string | undefined, print: (line: string) => void): void {
  if (stateDir === undefined) return;
  const earlier = releaseOf(stateDir);
  const own = packageVersion();
  if (earlier !== undefined && isLaterRelease(earlier, own)) {
    throw new Error(
      `The folder ${stateDir}/ was written by Offload ${earlier}, which is later than this ${own}: ` +
        `install offload@${earlier}, or set OFFLOAD_STATE_DIR to another folder`,
    );
  }
  if (earlier !== undefined && earlier !== own)
    print(`The folder ${stateDir}/ was written by Offload ${earlier}; this is ${own}, which reads it.`);
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(join(stateDir, fileName), `${own}\n`);
}
