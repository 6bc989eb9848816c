import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deriveSecret } from "../../src/core/notify/secret.ts";
import { createWebhookSender } from "../../src/webhooks/send-webhook.ts";
import { signedHeaders } from "../../src/webhooks/sign.ts";
import { fencesOf } from "../support/pages.ts";

/* The receivers of docs/webhooks.md, as they stand there, with the real signer and the real sender. */

const snippet = (language: string): string => {
  const found = fencesOf("docs/webhooks.md").filter(
    ({ words, text }) => words[0] === language && !text.includes("TaskPipeline"),
  );
  expect(found).toHaveLength(1);
  return found[0]?.text ?? "";
};

const key = Buffer.alloc(32, 7);
const [present, earlier, other] = [
  deriveSecret(key, "acme", 2),
  deriveSecret(key, "acme", 1),
  deriveSecret(key, "globex", 1),
];
const body = '{"type":"task.completed","data":{"task_id":"1","tags":{"n":"Grüße 🦤"}}}';
const id = "msg_1";

/** What a receiver must do with a webhook: headers and body, by what is wrong with it. */
const cases = (): [name: string, headers: Record<string, string>, body: string, accepted: boolean][] => {
  const now = Date.now();
  const good = signedHeaders([present], id, now, body);
  return [
    ["signed with its secret", good, body, true],
    ["signed with the new secret and with its own", signedHeaders([other, present], id, now, body), body, true],
    ["signed four minutes ago", signedHeaders([present], id, now - 240_000, body), body, true],
    ["signed with another tenant's secret", signedHeaders([other], id, now, body), body, false],
    ["signed with an earlier secret", signedHeaders([earlier], id, now, body), body, false],
    ["with another body", good, `${body} `, false],
    ["with another id", { ...good, "webhook-id": "msg_2" }, body, false],
    ["with another time", { ...good, "webhook-timestamp": String(Math.floor(now / 1000) - 1) }, body, false],
    ["signed six minutes ago", signedHeaders([present], id, now - 360_000, body), body, false],
    ["signed for later", signedHeaders([present], id, now + 360_000, body), body, false],
    ["with a signature of another version", { ...good, "webhook-signature": "v2,AAAA" }, body, false],
    ["with an empty signature", { ...good, "webhook-signature": "" }, body, false],
    ["with a time that is not a number", { ...good, "webhook-timestamp": "soon" }, body, false],
    ["without headers", {}, body, false],
  ];
};

const folder = mkdtempSync(join(tmpdir(), "offload-receiver-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("the receiver in TypeScript", () => {
  let receiver: ChildProcess;
  let port = 0;
  const lines: string[] = [];

  beforeAll(async () => {
    port = await freePort();
    symlinkSync(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    // The page's server says nothing when it listens.
    const ready = '\nserver.on("listening", () => console.log("ready"));\n';
    writeFileSync(join(folder, "receiver.ts"), snippet("ts") + ready);
    receiver = spawn(process.execPath, ["receiver.ts"], {
      cwd: folder,
      env: { ...process.env, WEBHOOK_SECRET: present, PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const output = createInterface({ input: receiver.stdout as NodeJS.ReadableStream });
    output.on("line", (line) => lines.push(line));
    await once(output, "line");
  });
  afterAll(() => receiver.kill());

  const send = (headers: Record<string, string>, text: string) => {
    const url = `http://127.0.0.1:${port}/hooks/offload`;
    const sender = createWebhookSender({ allowedHosts: [`127.0.0.1:${port}`] });
    return sender.send({ url, headers, body: text }, AbortSignal.timeout(20_000));
  };

  test.each(cases().map(([name], index) => [name, index] as const))("a webhook %s", async (_, index) => {
    const [, headers, text, accepted] = cases()[index] ?? ["", {}, "", false];
    expect(await send(headers, text)).toEqual({ status: accepted ? 204 : 401 });
  });

  test("a repeated webhook is accepted and has no second effect", () => {
    expect(lines).toEqual(["ready", "task.completed 1"]);
  });
});

/** The command of Python 3.9 or later. Undefined: this machine has none. */
const python = ["python3", "python"].find((command) => {
  try {
    execFileSync(command, ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"], {
      stdio: "ignore",
      timeout: 120_000,
    });
    return true;
  } catch {
    return false;
  }
});
if (python === undefined)
  console.warn("NOT TESTED: the Python of docs/webhooks.md, because this machine has no Python 3.9");

/** Calls the page's `verify` with each case of its input, and prints whether it accepted it. */
const driver = `
import json, sys
for secret, headers, body in json.load(sys.stdin):
    try:
        verify(secret, headers, body.encode())
        print(True)
    except (KeyError, ValueError):
        print(False)
`;

describe.skipIf(python === undefined)("the function in Python", () => {
  test("it accepts and refuses as the library does", async () => {
    const all = cases();
    const file = join(folder, "receiver.py");
    writeFileSync(file, snippet("python") + driver);
    const output = await new Promise<string>((resolve, reject) => {
      const child = execFile(python ?? "", [file], (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      );
      child.stdin?.end(JSON.stringify(all.map(([, headers, text]) => [present, headers, text])));
    });
    expect(all.map(([name], index) => [name, output.trim().split("\n")[index]])).toEqual(
      all.map(([name, , , accepted]) => [name, accepted ? "True" : "False"]),
    );
  });
});
