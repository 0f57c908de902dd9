/** A shop's requests to a gateway over HTTP, as light as they can be. */
import { Agent, type IncomingMessage, request } from "node:http";
import { createTokenMaker } from "../../clients/typescript/signature-token.ts";

export interface ShopRequest {
  readonly path: string;
  readonly shopKey: string;
  readonly body?: string;
  readonly agent?: Agent;
}

/**
 * Sends one request to the gateway at `url` and gives the response, of which nothing is read yet.
 */
export function ask(
  url: string,
  { path, shopKey, body, agent }: ShopRequest,
): Promise<IncomingMessage> {
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

/** Opens a page of the gateway, as a browser without any header of ours. */
export function openPage(url: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, resolve).once("error", reject).end();
  });
}

/** So many things of `list`, some at once; each connection takes the next one. */
export async function overConnections<T>(
  connections: number,
  list: readonly T[],
  does: (one: T, agent: Agent) => Promise<void>,
): Promise<void> {
  const left = [...list];
  const one = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let next = left.shift(); next !== undefined; next = left.shift()) await does(next, agent);
    agent.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
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

/** Reads a response to its end as one text. Throws unless its status is 200. */
export async function readAll(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("utf8");
  if (response.statusCode !== 200)
    throw new Error(`the gateway answered ${response.statusCode}: ${text.slice(0, headMax)}`);
  return text;
}
