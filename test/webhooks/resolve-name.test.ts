import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { createResolveName } from "../../src/webhooks/resolve-name.ts";

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});

/** Addresses of a name, by type of record; an empty list is an answer without an address. */
type Zone = Partial<Record<"A" | "AAAA", Buffer[]>>;

/** Starts a DNS server for one name. Without a zone it never answers; `asked` resolves at its first question. */
async function dnsServer(zone?: Zone): Promise<{ address: string; asked: Promise<unknown> }> {
  const socket = createSocket("udp4");
  sockets.push(socket);
  socket.on("message", (question, { port, address }) => {
    if (zone !== undefined) socket.send(answerTo(question, zone), port, address);
  });
  const asked = once(socket, "message");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function answerTo(question: Buffer, zone: Zone): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const type = question.readUInt16BE(end - 4) === 1 ? "A" : "AAAA";
  const found = zone[type];
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(found === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(found?.length ?? 0, 6);
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  const records = (found ?? []).map((data) =>
    Buffer.concat([Buffer.from([0xc0, 12, 0, type === "A" ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length]), data]),
  );
  return Buffer.concat([header, question.subarray(12, end), ...records]);
}

const ipv6 = (last: number) => Buffer.from([0x26, 0x06, ...Array<number>(13).fill(0), last]);
const signal = new AbortController().signal;

test("a name has all addresses of both families", async () => {
  const { address } = await dnsServer({ A: [Buffer.from([1, 1, 1, 1]), Buffer.from([10, 0, 0, 1])], AAAA: [ipv6(7)] });
  expect(await createResolveName([address])("receiver.example", signal)).toEqual(["1.1.1.1", "10.0.0.1", "2606::7"]);
});

test("a name with addresses of one family has those", async () => {
  const { address } = await dnsServer({ A: [], AAAA: [ipv6(7)] });
  expect(await createResolveName([address])("receiver.example", signal)).toEqual(["2606::7"]);
});

test("a name that does not exist, or has no address, is an error with a code", async () => {
  const none = await dnsServer({});
  await expect(createResolveName([none.address])("a.example", signal)).rejects.toMatchObject({ code: "ENOTFOUND" });
  const empty = await dnsServer({ A: [], AAAA: [] });
  await expect(createResolveName([empty.address])("a.example", signal)).rejects.toMatchObject({ code: "ENODATA" });
});

test("a signal ends a question that is never answered", async () => {
  const { address, asked } = await dnsServer();
  const abort = new AbortController();
  const resolved = createResolveName([address])("receiver.example", abort.signal);
  await asked;
  abort.abort();
  await expect(resolved).rejects.toMatchObject({ code: "ECANCELLED" });
});
