import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { problem, StubApi } from "./stub-api.ts";
import { bare, offload } from "./whole-program.ts";

afterEach(() => vi.unstubAllEnvs());

describe("help", () => {
  test.for<string[]>([
    ["--help"],
    ["dlq", "--help"],
    ["help", "dlq"],
    ["dlq", "replay", "--help"],
    ["tasks", "--help"],
    ["queues", "--help"],
    ["work", "--help"],
  ])("%j ends with exit code 0", async (args) => {
    const { code, out } = await bare(args);
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: offload/);
  });

  test("help shows examples of commands", async () => {
    for (const group of ["dlq", "tasks", "queues", "work"]) {
      expect((await bare([group, "--help"])).out).toContain(`\n  npx offload ${group}`);
    }
  });

  test("help of work names each setting's variable, and what the signals do", async () => {
    const { out } = await bare(["work", "--help"]);
    for (const name of ["CONCURRENCY", "TIERS", "DRAIN_SECONDS", "MEMORY_MB", "HEALTH_PORT"]) {
      expect(out).toContain(`OFFLOAD_WORK_${name}`);
    }
    expect(out).toContain("first Ctrl-C or SIGTERM");
  });

  test("help never shows the key that is set", async () => {
    vi.stubEnv("OFFLOAD_KEY", "very-secret");
    expect((await bare(["dlq", "list", "--help"])).out).not.toContain("very-secret");
  });
});

test("--version prints the package's version", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(await bare(["--version"])).toMatchObject({ code: 0, out: `${version}\n` });
});

test.for<string[]>([["nonsense"], ["dlq"], ["tasks"], ["--nonsense"], ["queues", "surplus"]])(
  "%j ends with exit code 2",
  async (args) => {
    expect(await bare(args)).toMatchObject({ code: 2, out: "" });
  },
);

describe("the API's URL and key", () => {
  test("URL and key come from the environment", async () => {
    await using api = await StubApi.start(() => ({ json: { tasks: [], next_cursor: null } }));
    vi.stubEnv("OFFLOAD_URL", `${api.url}/`);
    vi.stubEnv("OFFLOAD_KEY", "from-env");
    expect(await bare(["tasks", "list", "--tenant", "globex"])).toMatchObject({ code: 0 });
    expect(api.seen).toMatchObject([{ path: "/tasks", authorization: "Bearer from-env", query: { tenant: "globex" } }]);
  });

  test("a missing key is called so", async () => {
    vi.stubEnv("OFFLOAD_KEY", undefined);
    const { code, notes } = await bare(["tasks", "list", "--url", "http://127.0.0.1:1"]);
    expect([code, notes]).toEqual([2, expect.stringMatching(/^offload: no API key: set OFFLOAD_KEY or give --key;/)]);
  });

  test.for<string[]>([
    ["--url", "ftp://x"],
    ["--url", "nowhere"],
    ["--key", ""],
    ["--key", "a b"],
  ])("%j is a misuse", async (args) => {
    vi.stubEnv("OFFLOAD_KEY", "a-key");
    expect(await bare(["tasks", "list", ...args])).toMatchObject({ code: 2, out: "" });
  });
});

describe("a local server's key", () => {
  /** The authorization that a command without a key sends to this URL. */
  async function sent(url: string): Promise<{ code: number; authorization: string | null | undefined }> {
    let authorization: string | null | undefined;
    vi.stubEnv("OFFLOAD_KEY", undefined);
    vi.stubGlobal("fetch", async (_: unknown, init: RequestInit) => {
      authorization = new Headers(init.headers).get("authorization");
      return Response.json({ tasks: [], next_cursor: null });
    });
    const { code } = await bare(["tasks", "list", "--url", url]);
    vi.unstubAllGlobals();
    return { code, authorization };
  }

  test.for(["http://127.0.0.1:3000", "http://localhost:3000/"])("%s gets dev-acme without a key", async (url) => {
    expect(await sent(url)).toEqual({ code: 0, authorization: "Bearer dev-acme" });
  });

  test.for([
    "http://127.0.0.1:4000",
    "https://localhost:3000",
    "https://api.example.com",
    "http://127.0.0.1:3000.evil.com",
  ])("%s never gets it", async (url) => {
    expect(await sent(url)).toEqual({ code: 2, authorization: undefined });
  });
});

describe("types", () => {
  const type = { name: "mail.send", description: "Sends a mail.", version: 2, priority: "high", timeout_seconds: 20 };
  const types = [{ ...type, max_attempts: 5, cancellable: true, input_schema: {}, output_schema: null }];

  test("the command lists the task types", async () => {
    await using api = await StubApi.start(() => ({ json: { types } }));
    const { code, out } = await offload(api.url, ["types"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^TYPE .*DESCRIPTION\nmail\.send +2 +high +20 s +5 +Sends a mail\.$/m);
    expect(api.seen).toMatchObject([{ method: "GET", path: "/types" }]);
    expect(JSON.parse((await offload(api.url, ["types", "--json"])).out)).toEqual({ types });
  });
});

describe("queues", () => {
  const queue = { visible: 1, in_flight: 2, delayed: 3, oldest_age_seconds: null, dead_letters: 4, paused: false };
  const queues = { critical: queue, high: queue, normal: queue, low: queue };

  test("the command shows the tiers", async () => {
    await using api = await StubApi.start(() => ({ json: { queues } }));
    const { code, out } = await offload(api.url, ["queues"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^TIER +VISIBLE +IN FLIGHT +DELAYED +OLDEST \(S\) +RETRYING +DEAD LETTERS +STATE\ncritical +1 +2 +3 +- +- +4 +open/,
    );
    expect(JSON.parse((await offload(api.url, ["queues", "--json"])).out)).toEqual({ queues });
  });
});

describe("deployments", () => {
  const of = (hour: number, rolled_back = false) => ({
    ...{
      started_at: `2027-01-01T${hour}:00:00.000Z`,
      deployed_at: `2027-01-01T${hour}:02:00.000Z`,
      version: "1.0.0",
      rolled_back,
    },
  });

  test("the command lists them, newest first", async () => {
    const deployments = [of(15, true), of(14)];
    await using api = await StubApi.start(() => ({ json: { deployments } }));
    const { code, out } = await offload(api.url, ["deployments", "--utc"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^DEPLOYED +OFFLOAD +END\n2027-01-01T15:02:00.000Z +1\.0\.0 +rolled back\n2027-01-01T14:02:00.000Z +1\.0\.0 +deployed\n/,
    );
    expect(JSON.parse((await offload(api.url, ["deployments", "--json"])).out)).toEqual({ deployments });
  });

  test("the command says when there is none", async () => {
    await using api = await StubApi.start(() => ({ json: { deployments: [] } }));
    expect(await offload(api.url, ["deployments"])).toMatchObject({ code: 0, out: "No deployments.\n" });
  });
});

describe("a server that does not help", () => {
  test("a server that does not run is named", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise((resolve) => server.close(resolve));
    expect(await offload(url, ["queues"])).toMatchObject({
      code: 1,
      notes: `offload: ${url} does not answer: nothing listens there; \`npx offload start\` starts a local server\n`,
    });
  });

  test.for([{ text: "<html>", type: "text/html" }, { text: "null" }, { text: "[]" }, { text: "{" }])(
    "an answer that does not come from Offload is reported: $text",
    async (answer) => {
      await using api = await StubApi.start(() => ({ status: 200, ...answer }));
      const { code, notes } = await offload(api.url, ["queues"]);
      expect(code).toBe(1);
      expect(notes).toContain("not as Offload does");
    },
  );

  /** A server that answers with these bytes, and then closes the connection or stays silent; `asked` is called for each request. */
  async function answering(bytes: string, then: "closes" | "stays silent", asked: () => void) {
    const server = createServer((request) => {
      request.socket.write(bytes);
      if (then === "closes") request.socket.end();
      else asked();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const stop = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: stop };
  }
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";

  test.for([
    ["", "closes", /does not answer: the connection was closed/],
    [`${head}{"queues"`, "closes", /answered 200, but not completely: .*(closed|terminated)/],
    ["", "stays silent", /does not answer: the time limit of 30 s is over/],
    [`${head}{"queues"`, "stays silent", /answered 200, but not completely: the time limit of 30 s is over/],
  ] as const)("a server that sends %j and %s is reported", async ([bytes, then, notes]) => {
    // The time limit is over when the client has what the server sends.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const end = () => vi.advanceTimersByTime(30_000);
    const { fetch } = globalThis;
    const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async (...request) => {
      const response = await fetch(...request);
      if (then === "stays silent") end();
      return response;
    });
    await using server = await answering(bytes, then, () => bytes === "" && end());
    const ran = await offload(server.url, ["queues"]);
    vi.useRealTimers();
    fetched.mockRestore();
    expect(ran.code).toBe(1);
    expect(ran.notes).toMatch(notes);
  });

  test("an answer of API Gateway itself is shown", async () => {
    const json = { message: "Service Unavailable" };
    await using api = await StubApi.start(() => ({ status: 503, json, type: "application/json" }));
    expect((await offload(api.url, ["queues"])).notes).toBe("offload: Service Unavailable (503)\n");
  });

  test("a request that did not arrive in time is shown", async () => {
    const detail = "The request did not arrive within 30 s.";
    await using api = await StubApi.start(() => problem(408, "request_timeout", detail));
    expect((await offload(api.url, ["queues"])).notes).toBe(`offload: ${detail} (408 request_timeout)\n`);
  });

  test("an internal error of the server is shown with its correlation id", async () => {
    await using api = await StubApi.start(() => problem(500, "internal", "An internal error occurred."));
    const { code, notes } = await offload(api.url, ["queues"]);
    expect({ code, notes }).toEqual({
      code: 1,
      notes: "offload: An internal error occurred. (500 internal, correlation id corr-7)\n",
    });
  });
});

test("one name submits a task: the others still work, and are not listed but for what only they can do", async () => {
  const { out } = await offload("http://127.0.0.1:1", ["--help"]);
  expect(out).toMatch(/^ {2}submit /m);
  expect(out).toMatch(/^ {2}run +the same as `submit`; with --bundle /m);
  const { out: tasks } = await offload("http://127.0.0.1:1", ["tasks", "--help"]);
  expect(tasks).not.toMatch(/^ {2}submit /m);
  for (const old of [["run"], ["tasks", "submit"]]) {
    expect((await offload("http://127.0.0.1:1", [...old, "--help"])).out).toContain("task type");
  }
});

test("the audit's help names every action that a request can have", async () => {
  const { out } = await offload("http://127.0.0.1:1", ["audit", "--help"]);
  for (const action of ["cancelTask", "pauseSchedule", "closeBreaker", "revokeKey"]) expect(out).toContain(action);
  expect(out).not.toContain("signalTask");
});

test("a plan takes tasks per month", async () => {
  const { code, out } = await bare(["plan", "--per-month", "2629800", "--defaults"]);
  expect([code, JSON.parse(out).tasksPerSecond]).toEqual([0, [1]]);
  expect((await bare(["plan", "--per-month", "0"])).code).toBe(2);
});
