import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { isBinary } from "./places.ts";

/** The machine that Lambda and the container workers have. */
export const targetMachine = "linux-arm64";

const elf = "7f454c46";
const elfProcessors: Readonly<Record<number, string>> = { 3: "ia32", 40: "arm", 62: "x64", 183: "arm64" };
const appleArm64 = 0x0100000c;

/** The machine that a file's code is for, by its header, such as `linux-x64`. Undefined: it has no machine code. */
export function machineOf(file: string): string | undefined {
  const head = headOf(file);
  const magic = head.toString("hex", 0, 4);
  if (magic === elf) {
    // Objects and libraries, and programs; a core dump is neither.
    const name = `linux-${elfProcessors[head.readUInt16LE(18)] ?? "other"}`;
    return isForMusl(file) ? `${name}-musl` : name;
  }
  if (magic === "cffaedfe") return `darwin-${head.readUInt32LE(4) === appleArm64 ? "arm64" : "x64"}`;
  // Java's class files start as programs for several machines of Apple do.
  if (magic === "cafebabe" && isBinary(file)) return "darwin";
  return magic.startsWith("4d5a") && /\.(node|dll|exe)$/.test(file) ? "win32" : undefined;
}

function headOf(file: string): Buffer {
  const head = Buffer.alloc(64);
  const opened = openSync(file, "r");
  try {
    readSync(opened, head, 0, head.length, 0);
  } finally {
    closeSync(opened);
  }
  return head;
}

/** Musl's own loader, or its library, is named in what links against it. */
const isForMusl = (file: string): boolean => {
  const content = readFileSync(file);
  return content.includes("libc.musl-") || content.includes("ld-musl-");
};
