import * as z from "zod";

export const orderSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9-]{1,40}$/),
  email: z.email().max(200),
  name: z.string().min(1).max(200),
  lines: z
    .array(
      z.strictObject({
        title: z.string().min(1).max(200),
        quantity: z.int().min(1).max(1_000),
        cents: z.int().min(0).max(10_000_000),
      }),
    )
    .min(1)
    .max(100),
});

export type Order = z.output<typeof orderSchema>;

export const totalCents = ({ lines }: Order): number =>
  lines.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0);

export const money = (cents: number): string => `EUR ${(cents / 100).toFixed(2)}`;
