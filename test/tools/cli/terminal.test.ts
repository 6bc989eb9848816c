import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { run } from "../../../src/tools/cli/main.ts";
import { plain, systemTerminal } from "../../../src/tools/cli/terminal.ts";

/** The terminal of a process, on screens or on pipes, and what it has written. */
function streams(isTTY: boolean) {
  const [stdin, stdout, stderr] = [0, 1, 2].map(() => Object.assign(new PassThrough(), { isTTY, columns: 80 }));
  const terminal = systemTerminal({ stdin, stdout, stderr } as never);
  const written = () => [stdout, stderr].map((one) => String(one?.read() ?? "").replaceAll("\r\u001b[2K", ""));
  return { terminal, written };
}

/** A title, a cleared screen, a reset by a C1 control, DEL, a right-to-left override and a forged line. */
const hostile = "\u001b]0;title\u0007\u001b[2J\u009b0m\u007f\u202ecod\u2028\u061c\rforged";
const escaped = "\\u001b]0;title\\u0007\\u001b[2J\\u009b0m\\u007f\\u202ecod\\u2028\\u061c\\u000dforged";

describe("what comes from a client", () => {
  test("changes nothing on a screen, by any way of a command to write", async () => {
    const { terminal, written } = streams(true);
    terminal.out(hostile);
    await terminal.bytes(Buffer.from(hostile));
    terminal.note(hostile);
    terminal.progress(`${hostile.slice(0, 8)}`);
    expect(written()).toEqual([`${escaped}\n${escaped}`, `${escaped}\n\\u001b]0;titl`]);
  });

  test("is the same JSON on a screen", () => {
    const { terminal, written } = streams(true);
    const task = { error: hostile, tags: { a: "\u0085\n\t" } };
    terminal.out(JSON.stringify(task, null, 2));
    const [json = ""] = written();
    expect(JSON.parse(json)).toEqual(task);
    expect(json).not.toMatch(/[^\P{Cc}\n]|[\u061c\u2028\u202e]/u);
  });

  test("goes into a pipe as it is", async () => {
    const { terminal, written } = streams(false);
    terminal.out(hostile);
    await terminal.bytes(Buffer.from([0xff, 0x00]));
    terminal.note(hostile);
    const [out = "", notes] = written();
    expect(out.startsWith(`${hostile}\n`)).toBe(true);
    expect(notes).toBe(`${hostile}\n`);
  });

  test("is cut into pieces, of which none is a broken character", async () => {
    const { terminal, written } = streams(true);
    const bytes = Buffer.from("\u009b\u20ac");
    for (const byte of bytes) await terminal.bytes(Buffer.of(byte));
    expect(written()[0]).toBe("\\u009b\u20ac");
  });

  test("is plain in a cell of a table", () => {
    expect(plain(hostile)).not.toMatch(/[\p{Cc}\u061c\u2028\u202e]/u);
  });
});

test("lines, tabs and the colours of the program stay on a screen", () => {
  const { terminal, written } = streams(true);
  terminal.out("a\n\tb\r\n\u001b[31mred\u001b[39m");
  expect(written()[0]).toBe("a\n\tb\r\n\u001b[31mred\u001b[39m\n");
});

test.each([
  ["plan", "--defaults"],
  ["plan", "--figures"],
  ["docs", "--path"],
  ["docs", "--list", "webhooks"],
])("offload %s %s prints, and ends well, on a real terminal", async (...args) => {
  const { terminal, written } = streams(false);
  const code = await run(args, terminal);
  const [out = "", notes] = written();
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
  expect(out).not.toBe("");
});
