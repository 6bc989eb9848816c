import { createRequire } from "node:module";

/** The way to the packages of dynalite, which takes the class from here when it loads. */
const require = createRequire(createRequire(import.meta.url).resolve("dynalite/db/index.js"));

type MemoryLevel = new (options: object) => object;

const memory = require("memory-level") as { MemoryLevel: MemoryLevel };

/** A database in memory that keeps texts: bytes would be made and compared one by one for each key. */
memory.MemoryLevel = class extends memory.MemoryLevel {
  constructor(options: object) {
    super({ ...options, storeEncoding: "utf8" });
  }
};
