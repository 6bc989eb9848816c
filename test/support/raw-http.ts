import { connect, type Socket } from "node:net";

/** Opens a connection to a server, and sends bytes that no HTTP client would send. */
export function openRaw(url: string, bytes: string): { socket: Socket; answer: Promise<string>; text: () => string } {
  let text = "";
  const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(bytes));
  const answer = new Promise<string>((resolve, reject) => {
    socket.on("data", (chunk) => {
      text += chunk.toString("utf8");
    });
    socket.on("end", () => resolve(text));
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
  });
  return { socket, answer, text: () => text };
}

/** Sends bytes, and returns everything that the server answers until it closes the connection. */
export const sendRaw = (url: string, bytes: string): Promise<string> => openRaw(url, bytes).answer;
