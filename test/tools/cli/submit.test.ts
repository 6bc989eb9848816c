import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Answer, problem, programOf, type Ran, type Seen, StubApi } from "./stub-api.ts";

const { offload } = programOf({ submit: () => import("../../../src/tools/cli/submit-command.ts") });

interface Entry {
  type: string;
  input: { n: number };
  idempotency_key: string;
}

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "offload-submit-"));
  file = join(folder, "in.ndjson");
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const entriesOf = ({ body }: Seen): Entry[] => (body as { tasks: Entry[] }).tasks;
const sentTo = (api: StubApi): number[] => api.seen.flatMap((seen) => entriesOf(seen).map(({ input }) => input.n));
const keysOf = (api: StubApi): string[] =>
  api.seen.flatMap((seen) => entriesOf(seen).map(({ idempotency_key }) => idempotency_key));

/** Answers a batch; `refusal` returns the problem of an entry that is refused. */
function batch(request: Seen, refusal: (entry: Entry) => object | undefined = () => undefined): Answer {
  const tasks = entriesOf(request).map((entry) => {
    const refused = refusal(entry);
    if (refused !== undefined) return { problem: refused };
    return { task_id: `t${entry.input.n}`, status: "pending", poll_url: "/", created_at: "now", replayed: false };
  });
  return { status: 202, json: { tasks } };
}

const invalid = {
  status: 422,
  code: "invalid_input",
  detail: "n is odd",
  errors: [{ path: "/input/n", message: "odd" }],
};
const lines = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `{"n":${from + n}}\n`).join("");
const submit = (
  api: StubApi,
  args: string[] = [],
  ...rest: [Parameters<typeof offload>[2]?, Parameters<typeof offload>[3]?]
): Promise<Ran> => offload(api.url, ["submit", "mail.send", "--from", file, ...args], ...rest);
const progressOf = () => JSON.parse(readFileSync(`${file}.offload`, "utf8")).progress;

describe("submit", () => {
  test("a unique key goes with its mode and its waits", async () => {
    const accepted = { task_id: "t1", status: "scheduled", poll_url: "/tasks/t1", created_at: "now" };
    await using api = await StubApi.start(() => ({ status: 202, json: accepted }));
    const flags = [
      "--unique",
      "shop-7",
      "--unique-mode",
      "debounce",
      "--wait-seconds",
      "5",
      "--max-wait-seconds",
      "60",
    ];
    expect(await offload(api.url, ["submit", "index.rebuild", "{}", ...flags])).toMatchObject({ code: 0 });
    expect(await offload(api.url, ["submit", "index.rebuild", "{}", "--unique", "shop-7"])).toMatchObject({ code: 0 });
    const unique = { key: "shop-7", mode: "debounce", wait_seconds: 5, max_wait_seconds: 60 };
    expect(api.seen.map(({ body }) => (body as { unique: unknown }).unique)).toEqual([unique, { key: "shop-7" }]);
    const alone = await offload(api.url, ["submit", "index.rebuild", "{}", "--wait-seconds", "5"]);
    expect(alone).toMatchObject({ code: 2, notes: expect.stringContaining("need --unique") });
  });

  test("without --from it submits one task, as run does", async () => {
    const accepted = { task_id: "t1", status: "pending", poll_url: "/tasks/t1", created_at: "now" };
    await using api = await StubApi.start(() => ({ status: 202, json: accepted }));
    expect(await offload(api.url, ["submit", "mail.send", '{"n":1}'])).toMatchObject({ code: 0 });
    expect(api.seen).toMatchObject([{ path: "/tasks", body: { type: "mail.send", input: { n: 1 } } }]);
  });

  test("the input may be an option, as other commands have it, but not both", async () => {
    const accepted = { task_id: "t1", status: "pending", poll_url: "/tasks/t1", created_at: "now" };
    await using api = await StubApi.start(() => ({ status: 202, json: accepted }));
    const option = ["--input", '{"n":1}'];
    expect(await offload(api.url, ["submit", "mail.send", ...option])).toMatchObject({ code: 0 });
    expect(await offload(api.url, ["submit", "mail.send", "{}", ...option])).toMatchObject({ code: 2 });
    expect(api.seen).toMatchObject([{ path: "/tasks", body: { type: "mail.send", input: { n: 1 } } }]);
  });

  test("--from takes neither an input nor --wait", async () => {
    await using api = await StubApi.start((request) => batch(request));
    writeFileSync(file, lines(1));
    expect(await submit(api, ["--wait"])).toMatchObject({ code: 2 });
    expect(await offload(api.url, ["submit", "mail.send", "{}", "--from", file])).toMatchObject({ code: 2 });
    expect(api.seen).toEqual([]);
  });

  test("each line is submitted with the options, and no progress is left at the end", async () => {
    await using api = await StubApi.start((request) => batch(request));
    writeFileSync(file, `${lines(700)}\n  \r\n${lines(2, 700)}{"n":702}`);
    const { code, out, notes } = await submit(api, ["--priority", "low", "--tag", "a=b"]);
    expect({ code, out, notes }).toEqual({ code: 0, out: "703 accepted, 0 refused\n", notes: "" });
    expect(api.seen.map((seen) => entriesOf(seen).length)).toEqual([500, 203]);
    expect(sentTo(api)).toEqual(Array.from({ length: 703 }, (_, n) => n));
    expect(entriesOf(api.seen[0] as Seen)[0]).toMatchObject({ type: "mail.send", priority: "low", tags: { a: "b" } });
    expect(existsSync(`${file}.offload`)).toBe(false);
  });

  test("the standard input is submitted without a file of progress", async () => {
    await using api = await StubApi.start((request) => batch(request));
    async function* inputChunks() {
      for (const part of ['{"n":0}\n{"n"', ":1}\n", '{"n":2}']) yield Buffer.from(part);
    }
    const run = await offload(api.url, ["submit", "mail.send", "--from", "-"], undefined, { inputChunks });
    expect(run).toMatchObject({ code: 0, out: "3 accepted, 0 refused\n" });
    expect(sentTo(api)).toEqual([0, 1, 2]);
  });

  test("separators of JSON texts are no ends of lines, and bytes that are not UTF-8 are", async () => {
    await using api = await StubApi.start((request) => batch(request));
    writeFileSync(
      file,
      Buffer.concat([Buffer.from('{"n":0,"text":"a\u2028b"}\n"'), Buffer.from([0xff]), Buffer.from('"\n')]),
    );
    const { code, notes } = await submit(api);
    expect(code).toBe(1);
    expect(notes).toMatch(/in\.ndjson, line 2: expected UTF-8/);
    expect(sentTo(api)).toEqual([0]);
  });

  test("refused lines are shown with their reasons, the first 20 of them, and the exit code is 1", async () => {
    await using api = await StubApi.start((request) =>
      batch(request, ({ input }) => (input.n % 2 ? invalid : undefined)),
    );
    writeFileSync(file, lines(50));
    const { code, out, notes } = await submit(api);
    expect({ code, out }).toEqual({ code: 1, out: "25 accepted, 25 refused\n" });
    const shown = notes.trim().split("\n");
    expect(shown[0]).toBe("line 2: n is odd (422 invalid_input): /input/n odd");
    expect(shown).toHaveLength(21);
    expect(shown.at(-1)).toBe("and 5 more refused lines");
    expect(existsSync(`${file}.offload`)).toBe(false);
  });

  test.each([
    [true, "██████████░░░░░░░░░░  50 %  1 of 2 lines: 1 accepted, 0 refused"],
    [false, "1 of 2 lines: 1 accepted, 0 refused"],
  ])("the progress is shown after each second, with a bar on a terminal: %s", async (live, line) => {
    await using api = await StubApi.start((request) => batch(request));
    writeFileSync(file, lines(2));
    const shown: string[] = [];
    let now = Date.now();
    vi.spyOn(Date, "now").mockImplementation(() => {
      now += 1_001;
      return now;
    });
    await submit(api, [], undefined, { live, progress: (text) => shown.push(text) });
    expect(shown[0]).toBe(line);
  });

  test("--json prints the outcome of each line", async () => {
    await using api = await StubApi.start((request) =>
      batch(request, ({ input }) => (input.n === 1 ? invalid : undefined)),
    );
    writeFileSync(file, `\n${lines(2)}`);
    const { out, notes } = await submit(api, ["--json"]);
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { line: 2, task: { task_id: "t0", replayed: false } },
      { line: 3, error: { code: "invalid_input", status: 422, detail: "n is odd" } },
    ]);
    expect(notes).toContain("1 accepted, 1 refused\n");
  });
});

describe("a submit that was interrupted", () => {
  test("a line that is not JSON stops it after the lines before, and the same command goes on after the line is corrected", async () => {
    await using api = await StubApi.start((request) => batch(request));
    writeFileSync(file, `${lines(3)}{"n": oops}\n${lines(2, 4)}`);
    const { code, notes } = await submit(api);
    expect(code).toBe(1);
    expect(notes).toMatch(/^Stopped after line 3: 3 accepted, 0 refused\.\nThe same command goes on from there; /);
    expect(notes).toMatch(/in\.ndjson, line 4: expected JSON, got "\{\\"n\\": oops\}"\. Correct this line\n$/);
    expect(progressOf()).toMatchObject({ lines: 3, accepted: 3, refused: 0 });
    writeFileSync(file, lines(6));
    const again = await submit(api);
    expect(again).toMatchObject({ code: 0, out: "6 accepted, 0 refused\n" });
    expect(again.notes).toContain(`Going on after line 3 of ${file}`);
    expect(sentTo(api)).toEqual([0, 1, 2, 3, 4, 5]);
    const [key] = (keysOf(api)[0] ?? "").split(".");
    expect(keysOf(api)).toEqual([0, 1, 2, 3, 4, 5].map((n) => `${key}.${n}`));
    expect(existsSync(`${file}.offload`)).toBe(false);
  });

  test("a refused request stops it, and the same command repeats the request with its keys", async () => {
    await using api = await StubApi.start((request, index) =>
      index === 1 ? problem(403, "forbidden", "no") : batch(request),
    );
    writeFileSync(file, lines(600));
    expect(await submit(api)).toMatchObject({
      code: 1,
      notes: expect.stringMatching(/offload: no \(403 forbidden\)\n$/),
    });
    expect(progressOf()).toMatchObject({ lines: 500, accepted: 500 });
    expect(await submit(api)).toMatchObject({ code: 0, out: "600 accepted, 0 refused\n" });
    expect(api.seen.map((seen) => entriesOf(seen).length)).toEqual([500, 100, 100]);
    expect(new Set(keysOf(api)).size).toBe(600);
  });

  test("lines that are refused as too many, again and again, stop it before the first of them", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const full = { status: 503, code: "queue_full", detail: "The queue is full." };
    await using api = await StubApi.start((request) =>
      batch(request, ({ input }) => (input.n === 1 ? full : undefined)),
    );
    writeFileSync(file, lines(3));
    const { code, notes } = await submit(api);
    expect(code).toBe(1);
    expect(notes).toContain("line 2: the API accepts no more tasks now: The queue is full. (503 queue_full)\n");
    expect(progressOf()).toMatchObject({ lines: 1, accepted: 1 });
    expect(api.seen).toHaveLength(21);
  });

  test("another type or other options than those of the progress are refused", async () => {
    await using api = await StubApi.start(() => problem(403, "forbidden", "no"));
    writeFileSync(file, lines(2));
    await submit(api, ["--priority", "low"]);
    const { code, notes } = await submit(api);
    expect(code).toBe(2);
    expect(notes).toContain('another type or other options: {"type":"mail.send"');
    expect(notes).toContain(`or delete ${file}.offload to start from the first line`);
    expect(api.seen).toHaveLength(1);
  });

  test("a file whose submitted lines have changed is refused", async () => {
    await using api = await StubApi.start((request) => batch(request));
    writeFileSync(file, `${lines(3)}oops\n`);
    await submit(api);
    writeFileSync(file, lines(4, 100));
    const { code, notes } = await submit(api);
    expect(code).toBe(2);
    expect(notes).toContain(`the first 3 lines of ${file} have changed`);
    expect(sentTo(api)).toEqual([0, 1, 2]);
    expect(progressOf()).toMatchObject({ lines: 3 });
  });

  test("Ctrl-C stops it after the present request", async () => {
    let press = () => {};
    await using api = await StubApi.start((request) => {
      press();
      return batch(request);
    });
    writeFileSync(file, lines(1_200));
    const { code, notes } = await submit(api, [], undefined, {
      onInterrupt: (stop) => {
        press = stop;
        return () => {};
      },
    });
    expect(code).toBe(130);
    expect(notes).toContain("Stopped after line 500: 500 accepted, 0 refused.\nThe same command goes on from there");
    expect(api.seen).toHaveLength(1);
    press = () => {};
    expect(await submit(api)).toMatchObject({ code: 0, out: "1200 accepted, 0 refused\n" });
    expect(sentTo(api)).toEqual(Array.from({ length: 1_200 }, (_, n) => n));
  });

  test("a file that cannot be read is named, and leaves no progress", async () => {
    await using api = await StubApi.start((request) => batch(request));
    expect(await submit(api)).toMatchObject({ code: 2, notes: expect.stringContaining(`cannot read ${file}`) });
    expect(existsSync(`${file}.offload`)).toBe(false);
  });
});
