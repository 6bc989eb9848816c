/*
 * The loop of a Lambda runtime for one function: loads its handler, takes invocations from the Runtime API, and hands over the answers with Node's own
 * HTTP client, as the Node runtime does. It ends the process after an error that nobody catches.
 */
import { request } from "node:http";
import { pathToFileURL } from "node:url";

for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (error) => {
    console.error(error);
    process.exit(128);
  });
}

const root = `${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;

const send = (method, path, body) =>
  new Promise((resolve, reject) => {
    const sent = request(`http://${root}/${path}`, { method }, async (response) => {
      let text = "";
      for await (const part of response) text += part;
      resolve({ headers: response.headers, text });
    });
    sent.on("error", reject);
    sent.end(body);
  });

const { handler } = await import(pathToFileURL(process.argv[2]).href);
for (;;) {
  const { headers, text } = await send("GET", "next");
  const id = headers["lambda-runtime-aws-request-id"];
  const context = { getRemainingTimeInMillis: () => Number(headers["lambda-runtime-deadline-ms"]) - Date.now() };
  try {
    await send("POST", `${id}/response`, JSON.stringify(await handler(JSON.parse(text), context)));
  } catch (error) {
    await send("POST", `${id}/error`, JSON.stringify({ errorMessage: String(error) }));
  }
}
