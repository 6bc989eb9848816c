import type { ChildProcess } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Waits until a process answers at a URL. @throws Error when it has not answered within five minutes, or has ended */
export async function started(child: ChildProcess, url: string): Promise<ChildProcess> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  child.on("error", end).on("exit", end);
  for (let look = 0; look < 1_000 && !ended; look++) {
    // Any answer will do: without a signature it is a refusal.
    if (await fetch(url).then(Boolean, () => false)) return child;
    await sleep(300);
  }
  child.kill();
  throw new Error(`${child.spawnfile} did not answer at ${url}`);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
