import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callbackFault } from "../../src/core/notify/callback-url.ts";
import { createWebhookSender } from "../../src/webhooks/send-webhook.ts";

/* URLs of an attacker: none of them reaches this machine, which listens on all its addresses. */

let servers: Server[] = [];
let port = 0;
let connections = 0;

async function listen(host: string, on: number): Promise<number> {
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {}).destroy();
  });
  server.listen({ host, port: on, ipv6Only: true });
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  port = await listen("0.0.0.0", 0);
  // A machine without IPv6 has no such addresses to reach.
  await listen("::", port).catch(() => servers.pop());
});
afterAll(() => {
  for (const server of servers) server.close();
  servers = [];
});

const send = (url: string, addresses: () => string[] = () => []) =>
  createWebhookSender({ allowedHosts: [], resolve: async () => addresses() }).send(
    { url, headers: {}, body: "{}" },
    AbortSignal.timeout(20_000),
  );

/** All notations of an IPv4 address that parsers of URLs have ever taken. */
function notationsOf(address: string): string[] {
  const parts = address.split(".").map(Number) as [number, number, number, number];
  const [a, b, c, d] = parts;
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = parts.map((part) => part.toString(16).padStart(2, "0"));
  const mapped = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
  return [
    ...[address, `${address}.`, String(whole), `0x${whole.toString(16)}`, `0${whole.toString(8)}`],
    ...[
      `${a}.${(b * 256 + c) * 256 + d}`,
      `${a}.${b}.${c * 256 + d}`,
      parts.map((part) => `0${part.toString(8)}`).join("."),
    ],
    ...[parts.map((part) => `0x${part.toString(16)}`).join("."), `0x${hex[0]}.${b}.0${c.toString(8)}.${d}`],
    ...[parts.join("。"), parts.join("．"), parts.join("%2e"), parts.join("%2E")],
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll(/\d/g, (digit) => `%3${digit}`),
    ...[`[::ffff:${address}]`, `[::ffff:${mapped}]`, `[::${address}]`, `[::${mapped}]`, `[0:0:0:0:0:ffff:${mapped}]`],
    ...[`[64:ff9b::${address}]`, `[64:ff9b:1::${mapped}]`, `[2002:${mapped}::]`, `[2002:${mapped}::1]`],
    ...[`[::ffff:0:${address}]`, `[2001:0:1:2:3:4:${mapped}]`, `[::FFFF:${address}]`],
  ];
}

const ipv4 = [
  ...["127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
  ...["169.254.169.254", "169.254.170.2", "169.254.169.253", "100.64.0.1", "198.18.0.1", "192.0.0.170", "224.0.0.1"],
  "255.255.255.255",
];

const ipv6 = [
  ...[
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fc00::1",
    "fe80::1",
    "fe80::1%25lo",
    "fe80::1%lo",
  ],
  ...["fec0::1", "ff02::1", "2001:db8::1", "100::1", "2001::1", "3fff::1", "5f00::1", "::ffff:0:0", "4000::1"],
];

const names = [
  ...["localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "printer.local", "ip6-loopback"],
  ...[
    "metadata.google.internal",
    "instance-data.ec2.internal",
    "ip-10-0-0-1.ec2.internal.",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "loc%61lhost",
  ],
  ...[
    "localhost%00.example.com",
    "localhost%0d%0a.example.com",
    "localhost\t",
    "loc\nalhost",
    "metadata",
    "xn--localhost-",
  ],
];

/** Texts in which one parser sees a public host, and another one this machine. */
const confusing = (at: string) => [
  ...[`https://example.com@${at}/`, `https://example.com:x@${at}/`, `https://${at}@example.com/`, `https://@${at}/`],
  ...[
    `https://example.com\\@${at}/`,
    `https://${at}\\@example.com/`,
    `https:\\\\${at}/`,
    `https:///${at}/`,
    `https:${at}`,
  ],
  ...[`//${at}/`, `http://${at}/`, `HTTP://${at}/`, `ftp://${at}/`, `gopher://${at}/_x`, `file://${at}/etc/passwd`],
  ...[
    ` https://${at}/`,
    `https://${at}/ `,
    `https://\t${at}/`,
    `https://\r\n${at}/`,
    `h\nttps://${at}/`,
    `\u0000https://${at}/`,
  ],
  ...[`https://example.com#@${at}:x@y/\r\n`, `https://[${at}]/`, `https://[::1]:${port}@example.com/`],
  ...[
    `jar:https://${at}!/`,
    `view-source:https://${at}/`,
    `https://${at}:99999/`,
    `https://${"a".repeat(3000)}@${at}/`,
  ],
];

const hostileUrls = (): string[] => [
  ...ipv4.flatMap(notationsOf).map((host) => `https://${host}:${port}/`),
  ...ipv6.map((address) => `https://[${address}]:${port}/`),
  ...names.map((name) => `https://${name}:${port}/`),
  ...confusing(`127.0.0.1:${port}`),
  ...["22", "25", "6379", "9001"].map((other) => `https://127.0.0.1:${other}/2018-06-01/runtime/invocation/next`),
];

test("hundreds of hostile URLs are refused at submit and at the sender, and none reaches this machine", async () => {
  const urls = hostileUrls();
  expect(new Set(urls).size).toBeGreaterThan(400);
  connections = 0;
  expect(urls.filter((url) => callbackFault(url, []) === undefined)).toEqual([]);
  for (const url of urls) {
    const answer = await send(url, () => ["127.0.0.1"]);
    expect(answer, url).toEqual({
      error: expect.stringMatching(/^the URL is refused: expected [\w ]+$/),
      refused: true,
    });
  }
  expect(connections).toBe(0);
});

/** A URL with the usual port, as a client would submit it. */
const withoutPort = (text: string): string => {
  const url = new URL(text);
  url.port = "";
  return url.href;
};

describe("names that pass at submit", () => {
  const refused = { error: "an address of the receiver is not public", refused: true };
  const hosts = [
    "127.0.0.1.nip.io",
    "localtest.me",
    "rebind.attacker.example",
    "7f000001.attacker.example.",
    "bücher.example",
  ];

  test("a name is refused at the connection when any of its addresses is not public", async () => {
    connections = 0;
    const special = [...ipv4, "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "fd00:ec2::254", "fe80::1"];
    for (const address of special) {
      for (const host of hosts) {
        const url = `https://${host}:${port}/`;
        expect(callbackFault(withoutPort(url), [])).toBeUndefined();
        expect(await send(url, () => [address]), `${host} ${address}`).toEqual(refused);
        expect(await send(url, () => ["1.1.1.1", address]), `${host} ${address}`).toEqual(refused);
      }
    }
    expect(connections).toBe(0);
  });

  test("a name that changes its address after the submit is refused at the connection", async () => {
    connections = 0;
    const answers = [["1.1.1.1"], ["127.0.0.1"]];
    const next = () => answers.shift() ?? [];
    const url = `https://rebind.attacker.example:${port}/`;
    expect(callbackFault(withoutPort(url), [])).toBeUndefined();
    expect(next()).toEqual(["1.1.1.1"]);
    expect(await send(url, next)).toEqual(refused);
    expect(connections).toBe(0);
  });

  test("a name is asked for once in a try, so a second answer is never used", async () => {
    connections = 0;
    let questions = 0;
    await send(`https://rebind.attacker.example:${port}/`, () => [++questions === 1 ? "10.0.0.1" : "127.0.0.1"]);
    expect(questions).toBe(1);
    expect(connections).toBe(0);
  });

  test("a wrong text from the resolver is refused", async () => {
    connections = 0;
    for (const text of ["localhost", "0177.0.0.1", "2130706433", "127.1", "[::1]", "::1%lo", ""]) {
      expect(await send(`https://a.example:${port}/`, () => [text]), text).toEqual(refused);
    }
    expect(connections).toBe(0);
  });
});

test("an allowed host opens no other port and no other host", async () => {
  connections = 0;
  const sender = createWebhookSender({ allowedHosts: [`127.0.0.1:${port + 1}`, `localhost:${port + 1}`] });
  for (const host of ["127.0.0.1", "localhost", "[::1]", "127.0.0.2"]) {
    for (const scheme of ["http", "https"]) {
      const request = { url: `${scheme}://${host}:${port}/`, headers: {}, body: "{}" };
      expect(await sender.send(request, AbortSignal.timeout(20_000))).toMatchObject({ refused: true });
    }
  }
  expect(connections).toBe(0);
});

test("the listener of these tests is reached by a sender that may", async () => {
  connections = 0;
  const sender = createWebhookSender({ allowedHosts: [`127.0.0.1:${port}`] });
  const request = { url: `http://127.0.0.1:${port}/`, headers: {}, body: "{}" };
  expect(await sender.send(request, AbortSignal.timeout(20_000))).toMatchObject({ error: expect.any(String) });
  expect(connections).toBe(1);
});
