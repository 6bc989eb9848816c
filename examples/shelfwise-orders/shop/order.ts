import * as z from "zod";

const lineSchema = z.strictObject({
  sku: z.string().regex(/^[A-Z0-9-]{1,32}$/),
  title: z.string().min(1).max(200),
  quantity: z.int().min(1).max(1000),
  cents: z.int().min(0).max(10_000_000),
});

/** An order as a shop sends it. Its id is the shop's own order number. */
export const orderSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
  email: z.email(),
  lines: z.array(lineSchema).min(1).max(500),
});

export type Order = z.infer<typeof orderSchema>;
export type Line = z.infer<typeof lineSchema>;

export const totalOf = ({ lines }: Order): number =>
  lines.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0);

export const money = (cents: number): string => `${(cents / 100).toFixed(2)} EUR`;

/** The once-only key of an action: `confirm:order:acme:1001`. Each action on each thing of each tenant has one key everywhere. */
export const onceKey = (action: string, entity: string, tenant: string, id: string): string =>
  `${action}:${entity}:${tenant}:${id}`;
