/**
 * A shop's receiver of callbacks on loopback, whose behaviour a test changes, with what came and
 * what the stock verifier said of it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";

export interface CallbackDelivery {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly atMs: number;
}

export interface Receiver {
  readonly url: string;
  /** Everything that came, also what was answered with a no. */
  readonly received: CallbackDelivery[];
  /** Messages that the stock verifier refused. */
  readonly refused: string[];
  secret: string;
  /** Answers 204 unless told. */
  answer: (response: ServerResponse, received: CallbackDelivery) => void;
  close(): Promise<void>;
}

/** `before` is one that died: what came to it is kept. */
export async function startReceiver(port = 0, before?: Receiver): Promise<Receiver> {
  const received: CallbackDelivery[] = before?.received ?? [];
  const refused: string[] = before?.refused ?? [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("error", () => {});
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      const { type, sequence, data } = JSON.parse(body) as Pick<
        CallbackDelivery,
        "type" | "sequence" | "data"
      >;
      const one = {
        ...{ id: String(request.headers["webhook-id"]), type, sequence, data, body },
        ...{ headers: request.headers, atMs: performance.now() },
      };
      received.push(one);
      try {
        if (made.secret !== "")
          new Webhook(made.secret).verify(body, request.headers as Record<string, string>);
      } catch (error) {
        refused.push(`${one.type}: ${error instanceof Error ? error.message : ""}`);
      }
      made.answer(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address();
  const made: Receiver = {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/hook?shop=1`,
    received,
    refused,
    secret: "",
    answer: (response) => void response.writeHead(204).end(),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return made;
}
