/** A server that answers questions of the Esplora API from a table, without a chain. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { bitcoin, type UtxoNetwork } from "../../chains/utxo/network.ts";

export const fakeNetwork = bitcoin.networks.at(-1) as UtxoNetwork;
export const firstHash = `${fakeNetwork.reference}${"9".repeat(32)}`;

/** A body with status 200, a status with a body, or an answer of its own. */
export type FakeAnswer =
  | string
  | Buffer
  | readonly [status: number, body: string]
  | ((response: ServerResponse) => void);

export interface FakeEsplora {
  readonly url: string;
  readonly asked: string[]; // paths, in order
  answers: Record<string, FakeAnswer>;
  close(): Promise<void>;
}

/** Paths that the table does not have are answered with 404. */
export async function fakeEsplora(answers: Record<string, FakeAnswer> = {}): Promise<FakeEsplora> {
  const fake = { asked: [] as string[], answers };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    fake.asked.push(path);
    const answer =
      fake.answers[path] ??
      (path === "/block-height/0" ? firstHash : ([404, "Page not found"] as const));
    if (typeof answer === "function") answer(response);
    else if (typeof answer === "string" || Buffer.isBuffer(answer)) response.end(answer);
    else response.writeHead(answer[0]).end(answer[1]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return Object.assign(fake, { url, close });
}
