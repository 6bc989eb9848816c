import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { execFile, execFileSync } from "node:child_process";
import { generateKeyPairSync, randomBytes, randomUUID, scrypt, scryptSync } from "node:crypto";
import { Resolver } from "node:dns";
import { opendirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import type { Activity } from "../../src/core/ports/notify.ts";
import { follow } from "../../src/machine/follow.ts";

const own = new AsyncLocalStorage<string>();

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Follows code while a test runs. */
function following(name = "own") {
  const one = follow(() => own.getStore() === name);
  onTestFinished(() => one.end());
  return one;
}

/** Looks until the work of `one` has this activity. */
async function until(one: { now(): Activity }, activity: Activity): Promise<void> {
  while (one.now() !== activity) await turn();
}

/** A server that answers what it gets when `answer` is called. */
async function silentServer(reply: string) {
  const answers: (() => void)[] = [];
  const got: (() => void)[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => {
      answers.push(() => void socket.write(reply));
      for (const tell of got.splice(0)) tell();
    });
  }).listen(0);
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const asked = () => new Promise<void>((resolve) => got.push(resolve));
  return { port, asked, answer: () => answers.shift()?.() };
}

const reply = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\npaid";

test("code that has started nothing is at rest, whatever it computes or logs", async () => {
  const one = following();
  await own.run("own", async () => {
    for (let n = 0; n < 100; n++) await undefined;
    process.stdout.write("");
    new AsyncResource("MINE");
  });
  expect(one.now()).toBe("none");
});

test("the work of other code is not its own", async () => {
  const one = following();
  const timer = own.run("other", () => setTimeout(() => {}, 60_000));
  expect(one.now()).toBe("none");
  clearTimeout(timer);
});

test("a timer that keeps no process alive, such as that of AbortSignal.timeout, is no work", async () => {
  const one = following();
  own.run("own", () => AbortSignal.timeout(60_000));
  expect([one.now(), one.now()]).toEqual(["perhaps", "none"]);
});

test("a timer is work until it has run or is cleared; an interval may stay", async () => {
  const one = following();
  const timer = own.run("own", () => setTimeout(() => {}, 60_000));
  expect(one.now()).toBe("some");
  clearTimeout(timer);
  await until(one, "none");
  const interval = own.run("own", () => setInterval(() => {}, 60_000));
  await turn();
  expect([one.now(), one.now()]).toEqual(["perhaps", "perhaps"]);
  clearInterval(interval);
  await until(one, "none");
});

for (const [what, request] of Object.entries({
  fetch: async (port: number) => (await fetch(`http://127.0.0.1:${port}/`)).text(),
  "node:http": (port: number) =>
    new Promise((resolve, reject) => {
      get(`http://127.0.0.1:${port}/`, (response) => response.resume().on("end", resolve)).on("error", reject);
    }),
})) {
  test(`a request by ${what} is work until its answer, also on a connection that stays open`, async () => {
    const { port, asked, answer } = await silentServer(reply);
    for (let n = 0; n < 2; n++) {
      const one = following();
      const first = asked();
      const done = own.run("own", () => request(port));
      await first;
      for (let look = 0; look < 5; look++) {
        expect(one.now()).toBe("some");
        await turn();
      }
      answer();
      await done;
      await until(one, "none");
      one.end();
    }
  });
}

test("a connection of a pool is at work from a write until its answer", async () => {
  const { port, asked, answer } = await silentServer("row");
  const socket = connect(port);
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  const one = following();
  const first = asked();
  const row = new Promise((resolve) => socket.once("data", resolve));
  own.run("own", () => socket.write("select"));
  await first;
  for (let look = 0; look < 5; look++) {
    expect(one.now()).toBe("perhaps");
    await turn();
  }
  answer();
  await row;
  await until(one, "none");
});

test("files, processes, threads and digests are work", async () => {
  const works: (() => Promise<unknown>)[] = [
    () => readFile("package.json"),
    () => new Promise((resolve) => execFile(process.execPath, ["--version"], resolve)),
    () => new Promise((resolve) => new Worker("0", { eval: true }).on("exit", resolve)),
    () => crypto.subtle.digest("SHA-256", new Uint8Array(1_000)),
    () => import("node:dns/promises").then(({ lookup }) => lookup("localhost")),
  ];
  for (const work of works) {
    const one = following();
    const seen = new Set<Activity>();
    let over = false;
    const done = own.run("own", work).finally(() => {
      over = true;
    });
    while (!over) {
      seen.add(one.now());
      await turn();
    }
    await done;
    seen.add(one.now());
    expect(seen.has("some") || seen.has("perhaps")).toBe(true);
    await until(one, "none");
    one.end();
  }
});

test.each<[string, () => unknown]>([
  ["randomUUID", () => randomUUID()],
  ["randomBytes", () => randomBytes(8)],
  ["scryptSync", () => scryptSync("a", "b", 8)],
  ["generateKeyPairSync", () => generateKeyPairSync("ed25519")],
  ["a read Blob", () => new Blob(["x"]).text()],
  ["a read folder", () => opendirSync(".").closeSync()],
  ["a resolver", () => new Resolver()],
])("%s leaves a resource of Node behind, which is no work after some looks", async (_, call) => {
  const one = following();
  await own.run("own", call);
  const looks = Array.from({ length: 6 }, () => one.now());
  expect(looks).not.toContain("some");
  expect(looks.at(-1)).toBe("none");
});

test("a calculation that does not block is work until its end", async () => {
  const one = following();
  let over = false;
  own.run("own", () =>
    scrypt("a", "b", 8, () => {
      over = true;
    }),
  );
  while (!over) {
    expect(one.now()).toBe("some");
    await turn();
  }
  await until(one, "none");
});

/** In a process of its own: other tests of this one may have left attempts that nobody ends. */
test("nothing stays behind when nobody is followed any more", () => {
  const code = `
    import { Socket } from "node:net";
    import { follow } from "../../src/machine/follow.ts";
    const seen = () => [Socket.prototype.write, Socket.prototype.connect];
    const before = seen();
    const isAsBefore = () => seen().every((one, index) => one === before[index]);
    const [one, two] = [follow(() => false), follow(() => false)];
    const found = [isAsBefore()];
    one.end();
    found.push(isAsBefore());
    two.end();
    two.end();
    found.push(isAsBefore(), Object.hasOwn(Socket.prototype, "write"));
    console.log(JSON.stringify(found));`;
  const out = execFileSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: import.meta.dirname,
    encoding: "utf8",
    timeout: 120_000,
  });
  expect(JSON.parse(out)).toEqual([false, false, true, false]);
});
