import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AttackingSite, type Outcome, type Target } from "../support/attacking-site.ts";
import { chromium, noChromium, whileOpen } from "../support/browser.ts";
import { type LocalPorts, openPorts, ownPage, portNames, secret } from "../support/local-ports.ts";

if (chromium === undefined) {
  console.error(`\n!!! THE LOCAL SERVER WAS NOT TESTED IN A BROWSER: NO CHROMIUM !!!\n${noChromium}\n`);
}

describe.skipIf(chromium === undefined)("in a browser", () => {
  const site = new AttackingSite();
  let local: LocalPorts;

  beforeAll(async () => {
    await site.start();
    local = await openPorts();
  });
  afterAll(async () => {
    site.stop();
    await local.close();
  });

  const frame = (url: string, more = "") => `<iframe src="${url}" ${more}></iframe>`;
  const withText = (outcomes: Outcome[], expected: RegExp) => outcomes.filter(({ outcome }) => expected.test(outcome));

  /** Frames of three pages of other origins, each of which attacks every port by every name. */
  function otherOrigins() {
    const targets = portNames.flatMap((name) =>
      ["127.0.0.1", "localhost", "evil.example"].map(
        (host): Target => ({ base: `http://${host}:${local.ports[name]}`, attempts: local.attempts[name] }),
      ),
    );
    return [
      { name: "website", host: "evil.example" },
      { name: "other-local-port", host: "localhost" },
      { name: "null-origin", host: "localhost", more: 'sandbox="allow-scripts allow-forms"' },
    ].map(({ name, host, more }) => {
      const { html, report } = site.attack(name, targets);
      return { report, frame: frame(`http://${host}:${site.port}${site.serve(name, html)}`, more) };
    });
  }

  /** A frame for each port: a page whose own origin leads to that port after the page was loaded. */
  const rebound = () =>
    Promise.all(
      portNames.map(async (name) => {
        const base = `http://evil.example:${await site.rebind(local.ports[name])}`;
        const { html, report } = site.attack(`rebound-${name}`, [{ base, attempts: local.attempts[name] }]);
        return { report, frame: frame(base + site.serve(`rebound-${name}`, html)) };
      }),
    );

  test("no page of another origin reads or changes anything on any port", { timeout: 300_000 }, async () => {
    const before = await local.data();
    const [foreign, same] = [otherOrigins(), await rebound()];
    const path = site.serve("all", `<!doctype html><body>${[...foreign, ...same].map((one) => one.frame).join("")}`);
    const reports = (pages: typeof foreign) => Promise.all(pages.map(({ report }) => report));
    const work = Promise.all([reports(foreign), reports(same)]);
    const [byForeign, bySame] = await whileOpen(`http://evil.example:${site.port}${path}`, work);

    const attempts = portNames.reduce((sum, name) => sum + local.attempts[name].length, 0);
    expect(byForeign.flat().filter(({ way }) => way === "cors")).toHaveLength(9 * attempts);
    expect(withText(byForeign.flat(), /^(?!blocked|opaque)/)).toEqual([]);
    expect(bySame.flat().filter(({ way }) => way === "cors")).toHaveLength(attempts);
    const refused = /^blocked|accepts only the hosts 127\.0\.0\.1, localhost/;
    expect(bySame.flat().filter(({ outcome }) => !refused.test(outcome))).toEqual([]);
    expect(withText([...byForeign, ...bySame].flat(), new RegExp(secret))).toEqual([]);
    expect(await local.data()).toEqual(before);
  });

  test("a page that the API port itself serves can call the API", { timeout: 300_000 }, async () => {
    for (const host of ["127.0.0.1", "localhost"]) {
      const base = `http://${host}:${local.ports.api}`;
      const { html, report } = site.attack("own", [{ base, attempts: local.attempts.api }]);
      local.setOwnPage(html);
      const outcomes = await whileOpen(base + ownPage, report);
      const statuses = outcomes.filter(({ way }) => way === "cors").map(({ outcome }) => outcome.slice(0, 8));
      expect(statuses.slice(0, 3)).toEqual(["read 200", "read 200", "read 202"]);
    }
  });
});
