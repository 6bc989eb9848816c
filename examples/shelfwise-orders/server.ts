import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { OffloadError } from "offload/client";
import * as z from "zod";
import { orderSchema } from "./shop/order.ts";
import { readShops, type Shop } from "./shop/shops.ts";
import { type ledgers, ShopStore } from "./shop/store.ts";
import { clientOf, submitTasks } from "./shop/submit.ts";

export interface ShopOptions {
  store: ShopStore;
  shops: readonly Shop[];
  offloadUrl: string;
  /** Key that handlers of tasks send to this server. */
  shopKey: string;
}

const bookingSchema = z.strictObject({ key: z.string(), lines: orderSchema.shape.lines });

const bearerOf = (c: Context) => c.req.header("authorization")?.replace(/^Bearer /, "") ?? "";

/** The shop's server: orders for shops, bookings and reports for handlers. `heal` submits what a crash left. */
export function createShop({ store, shops, offloadUrl, shopKey }: ShopOptions) {
  const app = new Hono<{ Variables: { shop: Shop } }>();
  const byKey = new Map(shops.map((shop) => [shop.key, shop]));
  const byTenant = new Map(shops.map((shop) => [shop.tenant, shop]));
  const clients = new Map(shops.map((shop) => [shop.tenant, clientOf(shop, offloadUrl)]));

  async function submit(shop: Shop, order: z.infer<typeof orderSchema>) {
    const offload = clients.get(shop.tenant);
    if (offload === undefined) throw new Error(`no client of tenant ${shop.tenant}`);
    const tasks = await submitTasks(offload, shop, order);
    store.forTenant(shop.tenant).submitted(order.id, tasks);
    return tasks;
  }

  async function heal(): Promise<void> {
    for (const { tenant, order } of store.unsubmitted()) {
      const shop = byTenant.get(tenant);
      const failed = (error: unknown) => console.error(`order ${order.id} of ${tenant} has no tasks yet:`, error);
      if (shop !== undefined) await submit(shop, order).catch(failed);
    }
  }

  app.use("/shop/*", async (c, next) => {
    const shop = byKey.get(bearerOf(c));
    if (shop === undefined) return c.json({ error: "send the key of your shop" }, 401);
    c.set("shop", shop);
    return next();
  });

  app.post("/shop/orders", async (c) => {
    const { shop } = c.var;
    const parsed = orderSchema.safeParse(await c.req.json().catch(() => undefined));
    if (!parsed.success) return c.json({ error: z.prettifyError(parsed.error) }, 422);
    const order = parsed.data;
    const { known, tasks } = store.forTenant(shop.tenant).save(order);
    if (known === "different") return c.json({ error: `order ${order.id} exists with another content` }, 409);
    // Stored first. When this process dies here, `heal` or a repeat of this request submits the tasks.
    return c.json({ order: order.id, tasks: tasks ?? (await submit(shop, order)) }, 202);
  });

  app.get("/shop/stock", (c) => c.json(store.forTenant(c.var.shop.tenant).stock()));
  app.get("/shop/trending", (c) => c.json(store.forTenant(c.var.shop.tenant).trending()));

  app.use("/tenants/:tenant/*", async (c, next) => {
    if (bearerOf(c) !== shopKey) return c.json({ error: "only for handlers" }, 401);
    if (!byTenant.has(c.req.param("tenant"))) return c.json({ error: "no such shop" }, 404);
    return next();
  });

  for (const ledger of ["stock", "trending"] satisfies (keyof typeof ledgers)[]) {
    app.post(`/tenants/:tenant/${ledger}`, async (c) => {
      const tenant = c.req.param("tenant");
      const { key, lines } = bookingSchema.parse(await c.req.json());
      if (key.split(":")[2] !== tenant) return c.json({ error: `the key ${key} is not of tenant ${tenant}` }, 422);
      return c.json(store.forTenant(tenant).book(ledger, key, lines));
    });
  }

  app.get("/tenants/:tenant/days/:day", (c) => {
    const ofTenant = store.forTenant(c.req.param("tenant"));
    return c.json({ ...ofTenant.salesOf(c.req.param("day")), trending: ofTenant.trending() });
  });

  app.onError((error, c) => {
    console.error(c.req.path, error instanceof OffloadError ? error.message : error);
    return c.json({ error: "try again: nothing is done twice" }, 503, { "retry-after": "5" });
  });

  return { app, heal };
}

/** Starts the server with the settings of its environment. Resolves when it listens. */
export async function startShop(env: NodeJS.ProcessEnv = process.env) {
  // No default: with a known key anybody could book stock.
  if (!env.SHOP_KEY) throw new Error("set SHOP_KEY, the key that handlers send to this server");
  const shop = createShop({
    store: new ShopStore(env.SHOP_DATABASE ?? "shop.sqlite"),
    shops: readShops(env.SHOPS_FILE ?? "shops.json"),
    offloadUrl: env.OFFLOAD_URL ?? "http://127.0.0.1:3000",
    shopKey: env.SHOP_KEY,
  });
  void shop.heal();
  const timer = setInterval(shop.heal, 30_000);
  return new Promise<{ port: number; close(): void }>((listening) => {
    const port = Number(env.WEB_PORT ?? 4000);
    const server = serve({ fetch: shop.app.fetch, port, hostname: "127.0.0.1" }, (info) =>
      listening({
        port: info.port,
        close: () => {
          clearInterval(timer);
          server.close();
        },
      }),
    );
  });
}

if (import.meta.main) console.log(`The shop listens on port ${(await startShop()).port}.`);
