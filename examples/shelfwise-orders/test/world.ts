import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalServer } from "offload/testing";
import { expect } from "vitest";
import { type Fault, startOutside } from "../demo/outside.ts";
import type { Order } from "../shop/order.ts";
import type { Shop } from "../shop/shops.ts";
import { clientOf } from "../shop/submit.ts";

/** Set for a deployment: then the tests use it, with its tenant acme, in place of a local server. */
export const deployed = process.env.OFFLOAD_URL;

export const adminKey = "key-admin";
const shopKey = "dev-shop-key";

const shopOf = (tenant: string, url: string): Shop => ({
  tenant,
  key: deployed === undefined ? `key-${tenant}` : (process.env.OFFLOAD_KEY ?? ""),
  name: `Books of ${tenant}`,
  email: `orders@${tenant}.example`,
  webhookUrl: `${url}/${tenant}`,
});

/**
 * Faults at random, and the same in each run: half of all mails have one or two tries that fail, half of all webhooks one. A webhook has
 * three tries, of which one is left for a true fault of a busy machine, such as a connection that breaks.
 */
export function randomFault(what: string, tryNumber: number): Fault | undefined {
  const [number = 0, kind = 0] = createHash("sha256").update(what).digest();
  const failing = [0, 0, 1, what.startsWith("webhook") ? 1 : 2][number % 4] ?? 0;
  if (tryNumber > failing) return undefined;
  return kind % 2 === 0 ? "refuse" : "lose";
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

export type World = Awaited<ReturnType<typeof startWorld>>;

/** Offload, the world outside, and the shop's server in a process of its own. */
export async function startWorld(tenants: readonly string[], faultOf?: typeof randomFault) {
  const folder = mkdtempSync(join(tmpdir(), "shelfwise-"));
  // Handlers of a deployment call the ports that are the defaults of tasks/environment.ts.
  const webPort = deployed === undefined ? await freePort() : 4000;
  const outside = await startOutside({ smtpPort: deployed === undefined ? 0 : 1025, ...(faultOf && { faultOf }) });
  const shopUrl = `http://127.0.0.1:${webPort}`;
  const keys = [...tenants.map((tenant) => `key-${tenant}:${tenant}:operator`), `${adminKey}:staff:admin`];
  const local =
    deployed === undefined
      ? await startLocalServer({
          env: {
            OFFLOAD_KEYS: keys.join(","),
            OFFLOAD_TIME_SCALE: "0.01",
            // The log has whole ids.
            OFFLOAD_VERBOSE: "1",
            SHOP_URL: shopUrl,
            SMTP_URL: outside.smtpUrl,
            SHOP_KEY: shopKey,
          },
        })
      : undefined;
  const offloadUrl = local?.url ?? deployed ?? "";
  const shops = tenants.map((tenant) => shopOf(tenant, outside.webhookUrl));
  const shopsFile = join(folder, "shops.json");
  writeFileSync(shopsFile, JSON.stringify(shops));

  let server: ChildProcess | undefined;

  /** Starts the shop's server on the same data. Another URL stands for an Offload that a test watches. */
  async function open(url = offloadUrl): Promise<void> {
    const env = {
      ...process.env,
      OFFLOAD_URL: url,
      SHOP_DATABASE: join(folder, "shop.sqlite"),
      SHOPS_FILE: shopsFile,
      SHOP_KEY: shopKey,
      WEB_PORT: String(webPort),
    };
    const child = spawn(process.execPath, ["server.ts"], { env, stdio: ["ignore", "pipe", "inherit"] });
    server = child;
    process.once("exit", () => child.kill());
    const [said] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    expect(String(said)).toContain("The shop listens");
  }

  async function kill(): Promise<void> {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  }

  /** A request of a shop. */
  async function call(tenant: string, path: string, body?: unknown) {
    const key = shops.find((shop) => shop.tenant === tenant)?.key ?? "no key";
    const response = await fetch(`${shopUrl}/shop/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  await open();
  return {
    outside,
    local,
    offloadUrl,
    shops,
    shopUrl,
    open,
    kill,
    call,
    offloadOf(tenant: string) {
      const shop = shops.find((one) => one.tenant === tenant);
      if (shop === undefined) throw new Error(`no shop of ${tenant}`);
      return clientOf(shop, offloadUrl);
    },
    /** Sends an order, and again while the answer is 503, as a shop does. Returns the ids of its tasks by their types. */
    async order(tenant: string, order: Order): Promise<Record<string, string>> {
      let answer = await call(tenant, "orders", order);
      while (answer.status === 503) answer = await call(tenant, "orders", order);
      expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 202, error: undefined });
      return answer.body.tasks as Record<string, string>;
    },
    async close(): Promise<void> {
      await kill();
      await local?.stop();
      await outside.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
