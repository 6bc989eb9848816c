import ipaddr from "ipaddr.js";

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
