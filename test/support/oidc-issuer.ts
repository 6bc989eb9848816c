import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { listen } from "../../src/local/net/listen.ts";

/** An OIDC issuer on this machine, whose user has signed in already. It insists on PKCE, and accepts each code once. */
export class OidcIssuer {
  url = "";
  /** Answers of the token endpoint, by their status. */
  readonly answered: number[] = [];
  /** True: the user refuses. */
  refuses = false;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #challenges = new Map<string, string>();
  readonly #keys = generateKeyPair("ES256", { extractable: true });
  #codes = 0;

  async start(): Promise<string> {
    this.url = `http://127.0.0.1:${await listen(this.#server, 0)}`;
    return this.url;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    response.setHeader("access-control-allow-origin", "*");
    const json = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (url.pathname === "/.well-known/openid-configuration") return void json(200, this.#document());
    if (url.pathname === "/keys") {
      return void json(200, { keys: [{ ...(await exportJWK((await this.#keys).publicKey)), alg: "ES256", kid: "1" }] });
    }
    if (url.pathname === "/authorize") return this.#authorize(url.searchParams, response);
    const text = Buffer.concat(await request.toArray()).toString("utf8");
    const answer = await this.#token(new URLSearchParams(text));
    this.answered.push(answer.status);
    json(answer.status, answer.body);
  }

  #document() {
    return {
      ...{ issuer: this.url, authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token` },
      ...{ jwks_uri: `${this.url}/keys`, response_types_supported: ["code"], subject_types_supported: ["public"] },
      id_token_signing_alg_values_supported: ["ES256"],
    };
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("state", query.get("state") ?? "");
    if (this.refuses) back.searchParams.set("error", "access_denied");
    else {
      const code = `code-${++this.#codes}`;
      this.#challenges.set(code, query.get("code_challenge") ?? "");
      back.searchParams.set("code", code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  async #token(form: URLSearchParams): Promise<{ status: number; body: object }> {
    const code = form.get("code") ?? "";
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight = proof === this.#challenges.get(code);
    this.#challenges.delete(code);
    if (!isRight) return { status: 400, body: { error: "invalid_grant" } };
    const { privateKey } = await this.#keys;
    const access_token = await new SignJWT({ tenant: "acme", role: "operator" })
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(this.url)
      .setAudience("offload")
      .setSubject("olga")
      .setIssuedAt()
      .setExpirationTime("10m")
      .sign(privateKey);
    return { status: 200, body: { access_token, token_type: "Bearer", expires_in: 600 } };
  }
}
