import { defineConfig } from "vitest/config";

// One file after the other: each starts a local server with workers of its own.
export default defineConfig({ test: { fileParallelism: false } });
