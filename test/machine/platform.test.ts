import type { ChildProcess } from "node:child_process";
import { describe, expect, test } from "vitest";
import { browserOf, endProgram, fileName, renameHeld, runProgram, shellWord } from "../../src/machine/platform.ts";

const failing = (code: string, times: number) => {
  const calls: string[] = [];
  return {
    calls,
    move: async (from: string, to: string) => {
      calls.push(`${from} ${to}`);
      if (calls.length <= times) throw Object.assign(new Error(code), { code });
    },
  };
};

describe("a file that another program has open", () => {
  test.each(["EPERM", "EACCES", "EBUSY"])("gets its name later, after %s", async (code) => {
    const waits: number[] = [];
    const { calls, move } = failing(code, 3);
    await renameHeld("a", "b", move as never, (ms) => waits.push(ms));
    expect([calls.length, waits]).toEqual([4, [40, 80, 160]]);
  });

  test("keeps its name if that does not end, and at once if the error is another one", async () => {
    const held = failing("EBUSY", 100);
    await expect(renameHeld("a", "b", held.move as never, () => {})).rejects.toThrow("EBUSY");
    expect(held.calls).toHaveLength(8);
    const missing = failing("ENOENT", 100);
    await expect(renameHeld("a", "b", missing.move as never, () => {})).rejects.toThrow("ENOENT");
    expect(missing.calls).toHaveLength(1);
  });
});

describe("the end of a program", () => {
  const program = () => {
    const signals: string[] = [];
    return { signals, child: { pid: 7, kill: (signal: string) => signals.push(signal) } as unknown as ChildProcess };
  };

  test("is asked for by a signal", () => {
    const { child, signals } = program();
    endProgram(child, "linux");
    expect(signals).toEqual(["SIGTERM"]);
  });

  test("on Windows, which has none, it ends with the programs that it started", () => {
    const { child, signals } = program();
    const runs: unknown[] = [];
    endProgram(child, "win32", ((...given: unknown[]) => runs.push(given)) as never);
    expect([signals, runs]).toEqual([[], [["taskkill", ["/pid", "7", "/t", "/f"], { stdio: "ignore" }]]]);
  });
});

test("a program is found by its name, and its arguments arrive as they are", () => {
  const args = ["a b", "c&d", 'e"f', "%PATH%", "$HOME", "*"];
  const { stdout } = runProgram("node", ["-p", "JSON.stringify(process.argv.slice(1))", "--", ...args], {
    encoding: "utf8",
  });
  expect(JSON.parse(String(stdout))).toEqual(args);
  expect(runProgram("node", ["--version"]).error).toBeUndefined();
  expect(runProgram("offload-no-such-program", []).error).toMatchObject({ code: "ENOENT" });
});

test.each([
  ["web", "linux", "web"],
  ["C# app", "linux", "'C# app'"],
  ["it's", "linux", "'it'\\''s'"],
  ["a\\b", "win32", "a\\b"],
  ["my app (2)", "win32", '"my app (2)"'],
])("%s is one word of a shell on %s: %s", (text, platform, word) => {
  expect(shellWord(text, platform)).toBe(word);
});

test.each([
  ["report: May?.pdf", "report_ May_.pdf"],
  ["nul.txt", "nul_.txt"],
  ["COM1", "COM1_"],
  ["consul.txt", "consul.txt"],
  ["end. ", "end_"],
])("Windows takes %s as %s, and others as it is", (name, expected) => {
  expect([fileName(name, "win32"), fileName(name, "linux")]).toEqual([expected, name]);
});

test.each([
  [{}, "darwin", ["open"]],
  [{}, "linux", ["xdg-open"]],
  [{}, "win32", ["rundll32", "url.dll,FileProtocolHandler"]],
  [{ BROWSER: "firefox" }, "linux", ["firefox"]],
  [{ BROWSER: "" }, "linux", ["xdg-open"]],
])("with %o a URL opens on %s with %o", (environment, platform, program) => {
  expect(browserOf(environment, platform)).toEqual(program);
});
