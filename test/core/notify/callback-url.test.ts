import { describe, expect, test } from "vitest";
import { parseAllowedHost } from "../../../src/core/notify/allowed-hosts.ts";
import { callbackFault, isPublicAddress } from "../../../src/core/notify/callback-url.ts";
import fc from "../../support/fast-check.ts";

const faultOf = (url: string, allowed: string[] = []) => callbackFault(url, allowed);

describe("addresses", () => {
  test.each([
    ...["0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.255"],
    ...["169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1"],
    ...["198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
    ...["::", "::1", "::127.0.0.1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8"],
    ...["::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1"],
    ...["2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1"],
    ...["2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1", "4000::1", "fc00::1", "fd12:3456::1"],
    ...["fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2606:4700::1111%eth0"],
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each([
    ["instance metadata", "169.254.169.254"],
    ["instance metadata by IPv6", "fd00:ec2::254"],
    ["credentials of containers", "169.254.170.2"],
    ["credentials of pods", "169.254.170.23"],
    ["credentials of pods by IPv6", "fd00:ec2::23"],
    ["DNS of a VPC", "169.254.169.253"],
    ["Lambda's runtime API", "127.0.0.1"],
    ["shared address space", "100.100.100.200"],
  ])("the address of AWS for %s is not public", (_, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(["1.1.1.1", "8.8.8.8", "52.94.236.248", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2606:4700::1111"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  test.each(["", "1", "8.8.8", "08.8.8.8", "0x8.8.8.8", "8.8.8.8 ", "8.8.8.8\n", "[::1]", "example.com", "2606:::1"])(
    "the text %j is not a public address",
    (text) => {
      expect(isPublicAddress(text)).toBe(false);
    },
  );

  test("no text makes the check throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.ipV4Extended()), (text) => {
        expect(typeof isPublicAddress(text)).toBe("boolean");
      }),
    );
  });
});

describe("accepted URLs", () => {
  test.each([
    ...[
      "https://example.com",
      "https://example.com/hook?a=b#c",
      "HTTPS://EXAMPLE.COM:8443/",
      "https://a_b.example.com/",
    ],
    ...["https://1.1.1.1/", "https://[2606:4700::1111]:8443/", "https://example.com./", "https://bücher.example/"],
    ...[
      "https://notlocal.com/",
      "https://internal.example.com/",
      "https://example.com/a@b",
      "https://example.com/?a=@",
    ],
    `https://example.com/${"a".repeat(2048 - 20)}`,
  ])("%s", (url) => {
    expect(faultOf(url)).toBeUndefined();
  });
});

describe("refused URLs", () => {
  test.each([
    ["", "expected a URL"],
    ["example.com", "expected a URL"],
    ["https:example.com", "expected a URL"],
    ["https:/example.com", "expected a URL"],
    ["//example.com", "expected a URL"],
    ["https://", "expected a URL"],
    ["https://example.com:99999/", "expected a URL"],
    [" https://example.com/", "expected a URL"],
    ["https://exam\nple.com/", "expected a URL"],
    ["https://example.com/\r\nx: y", "expected a URL"],
    ["https://example.com/\u0000", "expected a URL"],
    ["https://example.com\\@127.0.0.1/", "expected a URL"],
    ["https://exa%00mple.com/", "expected a URL"],
    ["https://[fe80::1%25lo]/", "expected a URL"],
    ["https://1.2.3.4.5/", "expected a URL"],
    [`https://example.com/${"a".repeat(2048 - 19)}`, "expected a URL of at most 2048 characters"],
    [`https://example.com/${"ü".repeat(1000)}`, "expected a URL of at most 2048 characters"],
    ["http://example.com/", "expected an https URL"],
    ["ftp://example.com/", "expected an https URL"],
    ["file:///etc/passwd", "expected an https URL"],
    ["gopher://127.0.0.1:6379/_", "expected an https URL"],
    ["javascript://example.com/%0aalert(1)", "expected an https URL"],
    ["https://user@example.com/", "expected a URL without a user name and password"],
    ["https://user:secret@example.com/", "expected a URL without a user name and password"],
    ["https://@example.com/", "expected a URL without a user name and password"],
    ["https://1.1.1.1@127.0.0.1/", "expected a URL without a user name and password"],
    ["https://example.com:0/", "expected a port from 1 to 65535"],
    ["https://example.com:22/", "expected the port 443 or 8443"],
    ["https://example.com:9000/", "expected the port 443 or 8443"],
    ["https://localhost/", "expected a public host"],
    ["https://LOCALHOST./", "expected a public host"],
    ["https://%6c%6fcalhost/", "expected a public host"],
    ["https://ⓛocalhost/", "expected a public host"],
    ["https://a.localhost/", "expected a public host"],
    ["https://printer.local/", "expected a public host"],
    ["https://metadata.google.internal/", "expected a public host"],
    ["https://ip-10-0-0-1.eu-west-1.compute.internal./", "expected a public host"],
    ["https://localhost.localdomain/", "expected a public host"],
    ["https://router.home.arpa/", "expected a public host"],
    ["https://intranet/", "expected a public host"],
    ["https://com./", "expected a public host"],
    ["https://a..example.com/", "expected the name of a host"],
    ["https://example.com../", "expected the name of a host"],
    ["https://-a.example.com/", "expected the name of a host"],
    ["https://a'b.example.com/", "expected the name of a host"],
    [`https://${"a".repeat(64)}.example.com/`, "expected the name of a host"],
    [`https://${"a.".repeat(130)}com/`, "expected the name of a host"],
    ["https://127.0.0.1:9001/2018-06-01/runtime/invocation/next", "expected a public address"],
    ["https://127。0。0。1/", "expected a public address"],
    ["https://127.0.0.1./", "expected a public address"],
    ["https://2130706433/", "expected a public address"],
    ["https://[::ffff:7f00:1]/", "expected a public address"],
  ])("%j: %s", (url, fault) => {
    expect(faultOf(url)).toBe(fault);
  });

  test("no text makes the check throw, and no reason contains the text", () => {
    const url = fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(url, (text) => {
        expect(faultOf(text) ?? "expected").toMatch(/^expected[ \w]*$/);
      }),
    );
  });
});

describe("allowed hosts", () => {
  const allowed = ["127.0.0.1:9000", "[::1]:9000", "receiver:80", "receiver.internal:443"];

  test.each([
    ...["http://127.0.0.1:9000/hook", "https://127.0.0.1:9000/", "http://127.1:9000/", "http://[::1]:9000/"],
    ...["http://receiver/", "http://RECEIVER./", "https://receiver.internal/"],
  ])("%s is accepted", (url) => {
    expect(faultOf(url, allowed)).toBeUndefined();
  });

  test.each([
    ...["http://127.0.0.1:9001/", "http://127.0.0.1/", "http://127.0.0.2:9000/", "http://[::2]:9000/"],
    ...["https://receiver/", "http://receiver.internal/", "http://receiver.example/", "ftp://receiver:80/"],
    ...["http://user@127.0.0.1:9000/", "http://127.0.0.1:9000\\@example.com/", "http://example.com/?127.0.0.1:9000"],
  ])("%s is not accepted", (url) => {
    expect(faultOf(url, allowed)).toBeDefined();
  });

  test.each([
    ["127.0.0.1:9000", "127.0.0.1:9000"],
    ["127.1:9000", "127.0.0.1:9000"],
    ["LocalHost.:080", "localhost:80"],
    ["[::0:1]:9000", "[::1]:9000"],
    ["receiver.internal:65535", "receiver.internal:65535"],
  ])("the entry %s is read as %s", (text, expected) => {
    expect(parseAllowedHost(text)).toBe(expected);
  });

  test.each(
    ["", "localhost", "localhost:", "localhost:0", "localhost:65536", ":80", "*:80", "http://localhost:80"].concat([
      "localhost:80/x",
      "a b:80",
      "a@b:80",
      "::1:80",
      "[::1]",
      "[x]:80",
      "a,b:80",
      "999.1.1.1:80",
    ]),
  )("the entry %j is refused", (text) => {
    expect(parseAllowedHost(text)).toBeUndefined();
  });
});
