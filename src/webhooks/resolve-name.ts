import { Resolver } from "node:dns/promises";

/** Returns all addresses of a name. Ends when the signal does. @throws Error with a code of DNS */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Asks the DNS servers for the addresses of a name. A file of hosts and search domains do not count. It does not use
 * `dns.lookup`: four names whose servers do not answer would occupy all its threads, and with them every other request
 * of the process.
 * @param servers Default: those of this machine.
 */
export function createResolveName(servers?: readonly string[]): ResolveName {
  return async (name, signal) => {
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
      if (addresses.length === 0) throw causeOf(answers);
      return addresses;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}

/** The reason that says more: a name without IPv6 addresses is usual. */
function causeOf(answers: readonly PromiseSettledResult<string[]>[]): unknown {
  const reasons = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  return reasons.find(({ code }) => code !== "ENODATA") ?? reasons[0] ?? new Error("the name has no address");
}
