import { type AddressInfo, connect, createServer, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { expect, test } from "vitest";
import { isPublicAddress } from "../../src/core/notify/callback-url.ts";
import { AddressRefused, blockedAddresses, guardedLookup } from "../../src/webhooks/guard.ts";
import fc from "../support/fast-check.ts";

const signal = new AbortController().signal;

const lookUp = (lookup: LookupFunction, all: boolean) =>
  new Promise<unknown>((resolve) => {
    lookup("receiver.example", { all }, (error, address, family) =>
      resolve(error ?? (all ? address : { address, family })),
    );
  });

const lookupOf = (...addresses: string[]) => guardedLookup(async () => addresses, signal);

test("a connection gets exactly the addresses that were judged, with one question for each connection", async () => {
  const answers = [["1.1.1.1"], ["127.0.0.1"]];
  const lookup = guardedLookup(async () => answers.shift() ?? [], signal);
  expect(await lookUp(lookup, true)).toEqual([{ address: "1.1.1.1", family: 4 }]);
  expect(answers).toHaveLength(1);
  expect(await lookUp(lookup, true)).toBeInstanceOf(AddressRefused);
});

test("a connection that takes one address gets the first", async () => {
  expect(await lookUp(lookupOf("2606::7", "1.1.1.1"), false)).toEqual({ address: "1.1.1.1", family: 4 });
});

test("at most two addresses of each family are tried, IPv4 first", async () => {
  const many = ["2606::1", "1.1.1.1", "1.1.1.2", "2606::2", "1.1.1.3", "2606::3"];
  expect(await lookUp(lookupOf(...many), true)).toEqual([
    { address: "1.1.1.1", family: 4 },
    { address: "1.1.1.2", family: 4 },
    { address: "2606::1", family: 6 },
    { address: "2606::2", family: 6 },
  ]);
});

test.each([
  [["1.1.1.1", "10.0.0.1"]],
  [["10.0.0.1", "1.1.1.1"]],
  [["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "::1"]],
  [["2606::1", "::ffff:127.0.0.1"]],
  [["not an address"]],
])("the addresses %j are refused together", async (addresses) => {
  expect(await lookUp(lookupOf(...addresses), true)).toBeInstanceOf(AddressRefused);
  expect(await lookUp(lookupOf(...addresses), false)).toBeInstanceOf(AddressRefused);
});

test("a name without an address is an error", async () => {
  expect(await lookUp(lookupOf(), true)).toMatchObject({ code: "ENODATA" });
});

const blocked = blockedAddresses();
const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4");

/** Addresses over all ranges: half of them begin as a special range does. */
const anyAddress = fc
  .tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.constantFrom("", "2001:", "2002:", "fe80:", "64:ff9b:", "10.", "192.168."))
  .map(([address, start]) => {
    const changed = address.includes(":") === start.includes(":") ? address.replace(/^[^.:]*[.:]/, start) : address;
    return ipaddr.isValid(changed) ? ipaddr.parse(changed).toString() : ipaddr.parse(address).toString();
  });

test("the second net blocks no public address", () => {
  fc.assert(
    fc.property(anyAddress, (address) => {
      fc.pre(isPublicAddress(address));
      expect(blocked.check(address, familyOf(address))).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("the second net blocks every special address of IPv4, also as a mapped one, and those of IPv6 that lead to a network nearby", () => {
  for (let first = 0; first < 65_536; first++) {
    const address = `${first >> 8}.${first & 255}.2.1`;
    if (isPublicAddress(address)) continue;
    expect(blocked.check(address, "ipv4"), address).toBe(true);
    expect(blocked.check(`::ffff:${address}`, "ipv6"), address).toBe(true);
  }
  for (const address of [
    "::",
    "::1",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
  ]) {
    expect(blocked.check(address, "ipv6"), address).toBe(true);
  }
  expect(blocked.check("8.8.8.8", "ipv4")).toBe(false);
  expect(blocked.check("2606:4700::1111", "ipv6")).toBe(false);
});

test.skipIf(process.versions.node.startsWith("20."))(
  "Node itself refuses a blocked address when it connects",
  async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const error = await new Promise((resolve) => {
      connect({ host: "127.0.0.1", port, blockList: blocked }).on("error", resolve).on("connect", resolve);
    });
    expect(error).toMatchObject({ code: "ERR_IP_BLOCKED" });
    server.close();
  },
);
