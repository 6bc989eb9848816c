import { startShop } from "../server.ts";
import { orderOf } from "./orders.ts";
import { startOutside } from "./outside.ts";

/* The shop's server, a mail server and a receiver of webhooks beside `offload dev`, and one order of 50 items. */

await startOutside({
  smtpPort: 1025,
  webhookPort: 4025,
  onMail: ({ to, subject }) => console.log(`mail to ${to}: ${subject}`),
  onWebhook: ({ path, id }) => console.log(`webhook at ${path}: ${id}`),
});
const { port } = await startShop();

async function send(lines: number): Promise<void> {
  const order = orderOf(`demo-${Date.now()}`, lines);
  const started = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/shop/orders`, {
    method: "POST",
    headers: { authorization: "Bearer dev-acme", "content-type": "application/json" },
    body: JSON.stringify(order),
  });
  const answer = await response.json();
  console.log(`${lines} items: ${response.status} after ${Math.round(performance.now() - started)} ms`, answer);
}

await send(1); // The first request of a process loads code.
await send(50);
