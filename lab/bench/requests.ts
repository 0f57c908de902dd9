/** A shop's requests to a gateway over HTTP, as light as they can be. */
import { type Agent, type IncomingMessage, request } from "node:http";
import { createTokenMaker } from "../../client/signature-token.ts";

export interface Asked {
  readonly path: string;
  readonly shopKey: string;
  readonly body?: string;
  readonly agent?: Agent;
}

/**
 * Sends one request to the gateway at `url` and gives the response, of which nothing is read yet.
 */
export function ask(url: string, { path, shopKey, body, agent }: Asked): Promise<IncomingMessage> {
  const headers = {
    "content-type": "application/json",
    signaturetoken: createTokenMaker({ apiKey: shopKey })(),
  };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const sent = request(
      `${url}/api/v1${path}`,
      { method, headers, agent: agent ?? false },
      resolve,
    );
    sent.once("error", reject);
    sent.end(body);
  });
}

/** Longer than any one record; a longer body is no more kept than this. */
const headMax = 4_096;

/** Reads a response to its end; its length, and its beginning. Throws unless its status is 200. */
export async function drain(
  response: IncomingMessage,
): Promise<{ readonly bytes: number; readonly head: string }> {
  let bytes = 0;
  let head = "";
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (head.length < headMax) head += (chunk as Buffer).toString("utf8").slice(0, headMax);
  }
  if (response.statusCode !== 200)
    throw new Error(`the gateway answered ${response.statusCode}: ${head}`);
  return { bytes, head };
}
