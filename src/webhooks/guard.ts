import { BlockList, isIPv6, type LookupFunction } from "node:net";
import { isPublicAddress } from "../core/notify/callback-url.ts";
import type { ResolveName } from "./resolve-name.ts";

/** An address that is not public: it must not be connected to. */
export class AddressRefused extends Error {
  constructor() {
    super("an address of the receiver is not public");
    this.name = "AddressRefused";
  }
}

/** Addresses of one family that are connected to, one after the other. */
const mostTried = 2;

/**
 * Resolves the name of a connection. Node connects to exactly the addresses that this returns, so a name cannot lead
 * elsewhere after the check. One address that is not public refuses them all. Node does not call it for a host that is
 * an address.
 */
export function guardedLookup(resolve: ResolveName, signal: AbortSignal): LookupFunction {
  return (name, { all }, callback) => {
    judgedAddresses(resolve, name, signal).then(
      (addresses) => {
        const [first] = addresses;
        if (all) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ""),
    );
  };
}

/** IPv4 first: not every network has IPv6. */
async function judgedAddresses(resolve: ResolveName, name: string, signal: AbortSignal) {
  const addresses = await resolve(name, signal);
  if (!addresses.every(isPublicAddress)) throw new AddressRefused();
  const some = (isWanted: (address: string) => boolean) => addresses.filter(isWanted).slice(0, mostTried);
  const chosen = [...some((address) => !isIPv6(address)), ...some(isIPv6)];
  if (chosen.length === 0) throw Object.assign(new Error("no address"), { code: "ENODATA" });
  return chosen.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
}

/**
 * Addresses that are not public, by IANA's registries. A second net under `isPublicAddress`: Node 24 compares every
 * address with it when it connects. Node 20 ignores it.
 */
export function blockedAddresses(): BlockList {
  const list = new BlockList();
  const block = (family: "ipv4" | "ipv6", subnets: string) => {
    for (const subnet of subnets.split(" ")) {
      const [network = "", prefix] = subnet.split("/");
      list.addSubnet(network, Number(prefix), family);
    }
  };
  block(
    "ipv4",
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24",
  );
  block("ipv4", "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15");
  block("ipv4", "198.51.100.0/24 203.0.113.0/24 224.0.0.0/3");
  // No rule contains ::ffff:0:0/96: it would block every address of IPv4. The rules of IPv4 apply to those.
  block("ipv6", "::/96 ::ffff:0:0:0/96 64:ff9b::/32 100::/8 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48");
  block("ipv6", "3fff::/20 4000::/2 8000::/1");
  return list;
}
