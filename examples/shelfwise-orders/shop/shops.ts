import { readFileSync } from "node:fs";
import * as z from "zod";

const shopSchema = z.strictObject({
  tenant: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  /** API key of the tenant. The shop sends it to this server, and this server sends it to Offload. */
  key: z.string().min(1),
  name: z.string(),
  email: z.email(),
  webhookUrl: z.url(),
});

/** A shop. Its key is its tenant: a request without a shop's key has no tenant, and is refused. */
export type Shop = z.infer<typeof shopSchema>;

export const readShops = (file: string): Shop[] => z.array(shopSchema).parse(JSON.parse(readFileSync(file, "utf8")));
