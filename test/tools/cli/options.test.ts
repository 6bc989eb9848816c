import { Command } from "commander";
import { describe, expect, expectTypeOf, test } from "vitest";
import { Group } from "../../../src/tools/cli/group.ts";
import { type Operands, type Options, valuesOf } from "../../../src/tools/cli/options.ts";
import { quietTerminal } from "../../support/quiet-terminal.ts";

const given = [
  ["<task_id>"],
  ["[tiers...]", "tiers"],
  ["-y, --yes", "do not ask"],
  ["--created-after <time>", "a time"],
  ["--limit <n>", "a number", { read: Number, initial: 50 }],
  ["--role <role>", "a role", { among: ["viewer", "admin"], required: true }],
  ["--no-install", "leave it out"],
  ["--json", "print JSON"],
] as const;

interface Ran {
  out: string[];
  notes: string[];
  codes: number[];
}

/** Runs a command line of a program that has one command, `do`. */
async function ran(args: readonly string[], add: (group: Group) => void): Promise<Ran> {
  const seen: Ran = { out: [], notes: [], codes: [] };
  const terminal = {
    ...quietTerminal,
    out: (line: string) => void seen.out.push(line),
    note: (line: string) => void seen.notes.push(line),
  };
  const program = new Command("offload").exitOverride().configureOutput({ writeErr: () => {} });
  add(new Group(program, terminal, (code) => seen.codes.push(code)));
  await program.parseAsync(["do", ...args], { from: "user" });
  return seen;
}

test("an act gets the options, then the operands, with the types of their forms", async () => {
  expectTypeOf<Options<typeof given>>().toExtend<{ limit: number; role: "viewer" | "admin"; install?: boolean }>();
  expectTypeOf<Options<typeof given>["createdAfter"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Options<typeof given>["yes"]>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<Operands<typeof given>>().toEqualTypeOf<[string, string[]]>();
  const seen: unknown[] = [];
  const line = ["t1", "low", "high", "-y", "--created-after", "2027-01-01", "--role", "admin", "--no-install"];
  await ran(line, (group) => group.add("do", "does it", given, (...all) => void seen.push(...all)));
  const options = { yes: true, createdAfter: "2027-01-01", role: "admin", install: false, limit: 50 };
  expect(seen).toEqual([options, "t1", ["low", "high"]]);
});

test.each([
  ["a required option that is missing", ["t1"], "required option '--role <role>' not specified"],
  ["a word that is none of the allowed ones", ["t1", "--role", "owner"], "Allowed choices are viewer, admin"],
  ["an operand that is missing", ["--role", "admin"], "missing required argument 'task_id'"],
])("%s is refused", async (_, line, why) => {
  await expect(ran(line, (group) => group.add("do", "does it", given, () => {}))).rejects.toThrow(why);
});

test("a filter has the values of its own options only", () => {
  const filter = [["--type <type>", "a type"]] as const;
  expect(valuesOf(filter, { type: "mail.send", ...{ limit: 5 } })).toEqual({ type: "mail.send" });
});

describe("an answer", () => {
  const json = [["--json", "print JSON"]] as const;
  const answer = { json: { n: 1 }, text: "one", hint: "for people", note: "for all" };

  test("is a text with its hint and note", async () => {
    const { out, notes } = await ran([], (group) => group.add("do", "does it", json, () => answer));
    expect([out, notes]).toEqual([["one"], ["for people", "for all"]]);
  });

  test("is JSON with its note", async () => {
    const { out, notes } = await ran(["--json"], (group) => group.add("do", "does it", json, () => answer));
    expect([out, notes]).toEqual([['{\n  "n": 1\n}'], ["for all"]]);
  });

  test("without JSON prints nothing where JSON is asked for", async () => {
    const { out } = await ran(["--json"], (group) => group.add("do", "does it", json, () => ({ text: "Deleted." })));
    expect(out).toEqual([]);
  });

  test("of a command that fails all the same is printed first", async () => {
    const out: string[] = [];
    const failing = { ...answer, failure: "1 of 2 failed" };
    const running = ran([], (group) => {
      group.terminal.out = (line) => void out.push(line);
      group.add("do", "does it", json, () => failing);
    });
    await expect(running).rejects.toThrow("1 of 2 failed");
    expect(out).toEqual(["one"]);
  });

  test("that is a number is the exit code", async () => {
    const { out, codes } = await ran([], (group) => group.add("do", "does it", json, async () => 124));
    expect([out, codes]).toEqual([[], [124]]);
  });
});
