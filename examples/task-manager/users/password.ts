import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

const derive = (password: string, salt: Buffer, cost: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password, salt, 32, { N: cost }, (error, key) => (error === null ? resolve(key) : reject(error)));
  });

/** Hashes a password, as `<cost>:<salt>:<key>`. The cost is a power of two; 16,384 takes about 50 ms. */
export async function hashPassword(password: string, cost = 16_384): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost);
  return [cost, salt.toString("hex"), key.toString("hex")].join(":");
}

/** Compares with the hash of a user, or with one of nobody: an unknown address takes as long as a wrong password. */
export async function isPassword(password: string, hash = nobody): Promise<boolean> {
  const [cost, salt = "", key = ""] = hash.split(":");
  return timingSafeEqual(await derive(password, Buffer.from(salt, "hex"), Number(cost)), Buffer.from(key, "hex"));
}

const nobody = await hashPassword(randomBytes(16).toString("hex"));
