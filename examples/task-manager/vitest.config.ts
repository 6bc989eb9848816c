import { defineConfig } from "vitest/config";

/** One file at a time: each starts servers and workers of its own. */
export default defineConfig({ test: { fileParallelism: false } });
