import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bare } from "./whole-program.ts";

/** The words that are suggested for the last one of a command line. */
async function suggested(...words: string[]): Promise<string[]> {
  const { code, out, notes } = await bare(["complete", "--", ...words]);
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
  return out.split("\n").flatMap((line) => line.split("\t")[0] || []);
}

describe("suggestions", () => {
  test("groups and commands are suggested, with their descriptions", async () => {
    expect(await suggested("t")).toEqual(["tasks", "types", "trace", "top"]);
    expect(await suggested("")).toContain("completion");
    expect(await suggested("tasks", "re")).toEqual(["result", "retry", "reschedule"]);
    expect((await bare(["complete", "--", "tasks", "ext"])).out).toBe(
      "extend\tkeep a task and its result for longer\n",
    );
  });

  test("options are suggested, also after an option with a value", async () => {
    expect(await suggested("tasks", "list", "--sta")).toEqual(["--status"]);
    expect(await suggested("tasks", "list", "--status", "failed", "--u")).toEqual(["--unique-key", "--url", "--utc"]);
    expect(await suggested("dev", "--dyn")).toEqual(["--dynamodb-port"]);
    expect(await suggested("dev", "--no-reload", "--po")).toEqual(["--port"]);
  });

  test("known values are suggested", async () => {
    expect(await suggested("tasks", "list", "--status", "c")).toEqual(["completed", "cancelled"]);
    expect(await suggested("run", "probe.echo", "--priority", "")).toEqual(["critical", "high", "normal", "low"]);
    expect(await suggested("keys", "create", "--role", "op")).toEqual(["operator"]);
    expect(await suggested("tasks", "priority", "t1", "")).toEqual(["critical", "high", "normal", "low"]);
    expect(await suggested("completion", "")).toEqual(["bash", "zsh", "fish"]);
  });

  test("task types come from the project's folder", async () => {
    expect(await suggested("run", "probe.e")).toEqual(["probe.echo"]);
    expect(await suggested("tasks", "list", "--type", "inv")).toEqual(["invoice.generate"]);
  });

  test.for([
    ["tasks", "list", "--tag", ""],
    ["nonsense", ""],
    ["run", "probe.echo", "@"],
  ])("nothing is suggested after %j, so that the shell suggests files", async (words) => {
    expect(await suggested(...words)).toEqual([]);
  });
});

describe("scripts", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "offload-completion-"));
    const program = join(folder, "offload");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${resolve("bin/offload.js")}" "$@"\n`);
    chmodSync(program, 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The completions bash offers after its script was read twice, as a second start file would do. */
  function inBash(words: readonly string[]): string[] {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const source = 'eval "$(offload completion bash)"';
    const ask = `COMP_WORDS=(offload ${quoted}); COMP_CWORD=${words.length}; _offload; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const script = `set -eu; ${source}; ${source}; complete -p offload >/dev/null; ${ask}`;
    return execFileSync("bash", ["--norc", "-c", script], { env, encoding: "utf8", timeout: 120_000 })
      .trim()
      .split("\n");
  }

  test("bash completes groups, commands, options and values", () => {
    expect(inBash(["ta"])).toEqual(["tasks"]);
    const verbs = ["list", "groups", "show", "replay", "discard", "recover", "operation", "help"];
    expect(inBash(["dlq", ""])).toEqual(verbs);
    expect(inBash(["run", "x", "--pri"])).toEqual(["--priority"]);
    expect(inBash(["tasks", "list", "--status", "pe"])).toEqual(["pending"]);
  });

  test("bash does not run a command that stands in the line", () => {
    expect(inBash(["tasks", "$(touch ran)", ""])).not.toContain("ran");
  });

  test.for(["zsh", "fish"])("%s gets a script that asks for suggestions", async (shell) => {
    expect(await bare(["completion", shell])).toMatchObject({ code: 0, out: expect.stringContaining(" complete -- ") });
  });

  test("another shell is a misuse", async () => {
    expect(await bare(["completion", "powershell"])).toMatchObject({ code: 2 });
  });
});
