import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

/** Hosts of package registries, put together here so that this file names none. */
const registries = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["npm", "pkg", "github", "com"],
  ["npm", "jsr", "io"],
  ["pypi", "org"],
  ["files", "pythonhosted", "org"],
].map((labels) => labels.join("."));

/** Every file of the project that is text and small enough to have been written by hand, or is the lock file. */
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  encoding: "utf8",
  timeout: 120_000,
})
  .split("\n")
  .filter((path) => path !== "" && !/\.(png|pdf|ico|ttf|woff2?)$/.test(path))
  .flatMap((path) => {
    try {
      return [{ path, text: readFileSync(path, "utf8") }];
    } catch {
      return []; // Deleted, and not yet from the index.
    }
  });

describe("the project stands alone", () => {
  test("the lock file names no place to get packages from, so that any mirror serves", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
      packages: Record<string, { resolved?: string; link?: boolean; integrity?: string }>;
    };
    const named = Object.entries(packages).filter(
      ([, { resolved }]) => resolved !== undefined && /^\w+:\/\//.test(resolved),
    );
    expect(named.map(([path]) => path)).toEqual([]);
    expect(Object.keys(packages).length).toBeGreaterThan(50);
  });

  test("no file names the host of a package registry", () => {
    expect(files.length).toBeGreaterThan(300);
    const naming = files.filter(({ text }) => registries.some((host) => text.includes(host)));
    expect(naming.map(({ path }) => path)).toEqual([]);
  });

  test("no file imports from outside of the project", () => {
    const code = files.filter(({ path }) => path.endsWith(".ts"));
    expect(code.length).toBeGreaterThan(100);
    const leading = code.filter(({ path, text }) => {
      const depth = path.split("/").length - 1;
      return text.includes(`from "${"../".repeat(depth + 1)}`);
    });
    expect(leading.map(({ path }) => path)).toEqual([]);
  });
});
