import ipaddr from "ipaddr.js";
import { hostAndPort, hostOf, portOf } from "./allowed-hosts.ts";

/** The longest URL, in characters, as given and as it is sent. */
const maxCharacters = 2_048;

/** A host to which webhooks may be sent. */
export interface Receiver {
  url: URL;
  /** A name in lower case without a final dot, or an address without brackets. */
  host: string;
  port: number;
  /** True: the deployment allows this host and port, whatever its addresses are. */
  allowed: boolean;
}

/**
 * Ports of receivers, unless the deployment allows others. A URL does not change after the submit, so only that looks
 * at them.
 */
const usualPorts: readonly number[] = [443, 8443];

/**
 * Returns why a callback URL is refused, in one line without the URL. Undefined: it is accepted. A name is judged by
 * its text only: its addresses are judged when it is connected to.
 * @param allowedHosts Entries as `parseAllowedHost` returns them. These hosts and ports may also be reached by `http`.
 */
export function callbackFault(url: string, allowedHosts: readonly string[]): string | undefined {
  const receiver = receiverOf(url, allowedHosts);
  if ("fault" in receiver) return receiver.fault;
  return receiver.allowed || usualPorts.includes(receiver.port) ? undefined : "expected the port 443 or 8443";
}

/** Parses a callback URL, or returns why it is refused. */
export function receiverOf(text: string, allowedHosts: readonly string[]): Receiver | { fault: string } {
  if (text.length > maxCharacters) return tooLong;
  // The parser removes line breaks, reads a backslash as a slash, and needs no slashes after the colon. Other programs
  // do not.
  if (/[\s\p{Cc}\\]/u.test(text) || !/^[a-z][a-z\d+.-]*:\/\//i.test(text) || !URL.canParse(text)) {
    return { fault: "expected a URL" };
  }
  const url = new URL(text);
  if (url.href.length > maxCharacters) return tooLong;
  if (/^[^/]*:\/\/[^/?#]*@/.test(text)) return { fault: "expected a URL without a user name and password" };
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  const allowed = isWeb && allowedHosts.includes(hostAndPort(url));
  if (url.protocol !== "https:" && !allowed) return { fault: "expected an https URL" };
  const fault = portOf(url) === 0 ? "expected a port from 1 to 65535" : hostFault(hostOf(url));
  if (fault !== undefined && !allowed) return { fault };
  return { url, host: hostOf(url).replaceAll(/[[\]]/g, ""), port: portOf(url), allowed };
}

const tooLong = { fault: `expected a URL of at most ${maxCharacters} characters` };

/**
 * Names that lead to this machine or its network: RFC 6761, 6762, 8375, and the names of AWS and other clouds for their
 * machines.
 */
const localName = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;

/** A label of a name in ASCII. Names of other scripts have been converted. */
const label = /^[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?$/;

/** @param host As `hostOf` returns it. The parser has converted all notations of an address to the usual one. */
function hostFault(host: string): string | undefined {
  const isLiteral = host.startsWith("[") || /^[\d.]+$/.test(host);
  if (isLiteral) return isPublicAddress(host.replaceAll(/[[\]]/g, "")) ? undefined : "expected a public address";
  const labels = host.split(".");
  if (host.length > 253 || !labels.every((part) => label.test(part))) return "expected the name of a host";
  return labels.length < 2 || localName.test(host) ? "expected a public host" : undefined;
}

/** IPv6 addresses of the internet, RFC 4291. Others, such as `::127.0.0.1`, can lead to this machine or its network. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * True for the address of a host on the internet. False for every address with a special use: loopback, private,
 * link-local, shared, multicast, reserved, or an IPv6 address that contains an IPv4 address.
 * @param address IPv4 with four decimal parts, or IPv6 without a zone. False for any other text.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === "unicast";
  if (address.length > 45 || address.includes("%") || !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.match(globalUnicast) && parsed.range() === "unicast";
}
