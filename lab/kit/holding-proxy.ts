/**
 * An HTTP proxy before a node that can hold one kind of call: the question, before the node has it,
 * or the answer, when the node has done what was asked. A held call waits until the caller lets it
 * pass or drops it. Proxies with one gate hold the same calls. For loopback addresses only.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Call {
  readonly path: string;
  readonly body: string;
}

type Moment = "question" | "answer";
type Fate = "passes" | "is dropped";

export interface Hold {
  /** Resolves when the first call is held. */
  readonly first: Promise<void>;
  /** Ends the hold, for the calls that wait and for later ones. */
  end(fate: Fate): void;
}

interface Holding {
  readonly moment: Moment;
  readonly isMeant: (call: Call) => boolean;
  readonly begin: () => void;
  readonly fate: Promise<Fate>;
}

const messageBytesMax = 16 * 1024 * 1024;

/** Decides which calls wait. */
export class Gate {
  #holding: Holding | null = null;

  /** Every call that is meant waits from now on. A hold takes the place of the one before. */
  hold(moment: Moment, isMeant: (call: Call) => boolean): Hold {
    let begin = (): void => undefined;
    let decide = (_: Fate): void => undefined;
    const first = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const fate = new Promise<Fate>((resolve) => {
      decide = resolve;
    });
    const holding = { moment, isMeant, begin, fate };
    this.#holding = holding;
    const end = (decided: Fate): void => {
      if (this.#holding === holding) this.#holding = null;
      decide(decided);
    };
    return { first, end };
  }

  async fateOf(moment: Moment, call: Call): Promise<Fate> {
    const holding = this.#holding;
    if (holding === null || holding.moment !== moment || !holding.isMeant(call)) return "passes";
    holding.begin();
    return holding.fate;
  }
}

export interface HoldingProxy {
  /** Stands for the node's own address, with its path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a free loopback port and forwards to a node's address. */
export async function startHoldingProxy(nodeUrl: string, gate: Gate): Promise<HoldingProxy> {
  const node = new URL(nodeUrl);
  const server = createServer((asked, answer) => {
    serve(node, gate, asked, answer).catch(() => asked.socket.destroy());
  });
  // Longer than any client of ours keeps a connection: the client closes first.
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${node.pathname === "/" ? "" : node.pathname}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(
  node: URL,
  gate: Gate,
  asked: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const { url: path = "/" } = asked;
  const body = await bytesOf(asked);
  const call = { path, body: body.toString("utf8") };
  // A question that passes reaches the node also if its caller is gone meanwhile.
  if ((await gate.fateOf("question", call)) === "is dropped") return void asked.socket.destroy();
  const told = await forward(node, asked, body);
  if ((await gate.fateOf("answer", call)) === "is dropped") return void asked.socket.destroy();
  answer.writeHead(told.status, told.headers);
  answer.end(told.body);
}

interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

function forward(
  node: URL,
  { method, url: path, headers }: IncomingMessage,
  body: Buffer,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    const { connection: _, ...kept } = headers;
    const sent = { ...kept, host: node.host, "content-length": String(body.length) };
    const question = request(
      { host: node.hostname, port: node.port, method, path, headers: sent },
      (told) => {
        const { connection, "transfer-encoding": encoding, ...rest } = told.headers;
        bytesOf(told).then(
          (bytes) => resolve({ status: told.statusCode ?? 502, headers: rest, body: bytes }),
          reject,
        );
      },
    );
    question.once("error", reject);
    question.end(body);
  });
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > messageBytesMax) throw new Error("the message is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
