import { http, https } from "../../util/node-http.ts";

/** Time for one try, and the number of tries, until the address has answered. */
const tryMs = 2_000;
const mostTries = 3;

/**
 * Reads the answer of an address that gives credentials. @throws Error after the last try; it names neither query nor
 * headers
 */
export async function answerAt(url: URL, headers: Record<string, string>): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await answerOnce(url, headers);
    } catch (error) {
      if (tries >= mostTries) throw error;
    }
  }
}

const answerOnce = (url: URL, headers: Record<string, string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const { get: send } = url.protocol === "https:" ? https : http;
    const request = send(url, { timeout: tryMs, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("error", reject);
      response.on("end", () =>
        response.statusCode === 200
          ? resolve(text)
          : reject(new Error(`${url.host} answered ${response.statusCode} to the request for credentials`)),
      );
    });
    request.on("timeout", () => request.destroy(new Error(`${url.host} returned no credentials within ${tryMs} ms`)));
    request.on("error", reject);
  });
