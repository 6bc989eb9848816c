import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

/** Runs `offload --version` with no other variables than these. */
function version(variables: Record<string, string>, user: { uid?: number } = {}) {
  const { PATH = "" } = process.env;
  const env = { PATH, ...variables };
  return spawnSync(process.execPath, [resolve("bin/offload.js"), "--version"], {
    ...{ env, encoding: "utf8", timeout: 120_000 },
    ...user,
  });
}

/** True when every user can go through the folder, which root's own home does not allow. */
const isOpenToAll = (folder: string): boolean =>
  (statSync(folder).mode & 1) === 1 && (folder === dirname(folder) || isOpenToAll(dirname(folder)));

describe("the folder of compiled code", () => {
  test("is in the folder for caches", () => {
    const cache = mkdtempSync(join(tmpdir(), "offload-cache-"));
    try {
      expect(version({ XDG_CACHE_HOME: cache })).toMatchObject({ status: 0, stderr: "" });
      expect(readdirSync(join(cache, "offload"))).not.toEqual([]);
    } finally {
      rmSync(cache, { recursive: true });
    }
  });

  test.each([{ XDG_CACHE_HOME: "/nowhere/at/all" }, { HOME: "/nowhere" }])(
    "is done without, when it cannot be made: %j",
    (variables) => {
      expect(version(variables)).toMatchObject({ status: 0, stderr: "" });
    },
  );

  test.skipIf(process.getuid?.() !== 0 || !isOpenToAll(resolve("bin")))(
    "is done without for a user who has no home, as in a container",
    () => {
      expect(version({}, { uid: 54321 })).toMatchObject({ status: 0, stderr: "" });
    },
  );
});
