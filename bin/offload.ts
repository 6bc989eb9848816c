#!/usr/bin/env node
import { run } from "../src/cli/main.ts";

process.exitCode = await run(process.argv.slice(2));
