/**
 * A provider of an EVM chain with an HTTP face, on loopback: takes JSON-RPC requests and batches,
 * keeps to its profile, and asks the chain behind it for what it lets through. The chain is a real
 * node's address, or a function. Its memory is bounded: hashes of the newest sends, and counts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type FakeAnswer, forwarding, type RpcCall } from "../fake-node.ts";
import { answerOf, refusedAnswer, refusedCall } from "./evm-view.ts";
import { Meter, refusedBy, type WordedRefusal } from "./meter.ts";
import { backendAt, type Profile } from "./profile.ts";
import { type RequestIds, refuse, trouble } from "./reply.ts";
import type { Ask, EvmView } from "./view.ts";

interface EvmFrontOptions {
  readonly profile: Profile;
  readonly chain: string | Ask; // a node's address, or the chain itself
  readonly port?: number;
  readonly clock?: () => number; // milliseconds
}

const requestBytesMax = 4 * 1024 * 1024;
const sentMax = 4_096;
const takenHash = /"result":"(0x[0-9a-f]{64})"/;

export class EvmFront {
  readonly profile: Profile;
  readonly #ask: Ask;
  readonly #port: number;
  readonly #server: Server;
  readonly #meter: Meter;
  readonly #sent = new Set<string>();
  /** Calls by method, refused ones included. */
  readonly counts = new Map<string, number>();

  constructor({ profile, chain, port = 0, clock = () => performance.now() }: EvmFrontOptions) {
    this.profile = profile;
    this.#port = port;
    this.#meter = new Meter(profile, clock);
    this.#ask = typeof chain === "string" ? askOf(chain) : chain;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    // Longer than any client of ours keeps a connection: the client closes first.
    this.#server.keepAliveTimeout = 30_000;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get refused(): number {
    return this.#meter.refused;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, "127.0.0.1", resolve);
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(request)) as RpcCall | readonly RpcCall[];
    const calls = Array.isArray(body) ? (body as readonly RpcCall[]) : [body as RpcCall];
    const asked: RequestIds = { ids: calls.map(({ id }) => id), isBatch: Array.isArray(body) };
    for (const { method } of calls) this.counts.set(method, (this.counts.get(method) ?? 0) + 1);
    const turn = this.#meter.begin();
    const refused = this.#meter.admit(calls.length);
    if (refused !== null) return refuse(response, refused, asked);
    const view = await this.#view(turn);
    const answers = await Promise.all(calls.map((call) => this.#answer(view, call)));
    const lone = answers[0];
    if (!asked.isBatch && lone !== undefined && isRefused(lone))
      return refuse(response, lone, asked);
    const told = answers.map((answer, at) => ({
      jsonrpc: "2.0",
      id: calls[at]?.id ?? null,
      ...wireOf(answer),
    }));
    await this.#send(response, asked, JSON.stringify(asked.isBatch ? told : told[0]));
  }

  async #view(turn: number): Promise<EvmView> {
    const answer = await this.#ask("eth_blockNumber", []);
    const head = "result" in answer ? Number(answer.result) : 0;
    const isOurs = (hash: string): boolean => this.#sent.has(hash);
    return {
      profile: this.profile,
      backend: backendAt(this.profile, turn),
      head,
      ask: this.#ask,
      isOurs,
    };
  }

  async #answer(view: EvmView, call: RpcCall): Promise<FakeAnswer | WordedRefusal> {
    const refused = refusedCall(this.profile, call);
    if (refused !== null) return refused;
    if (call.method === "eth_sendRawTransaction") return this.#take(call);
    const answer = await answerOf(view, call);
    return "result" in answer
      ? (refusedAnswer(this.profile, call.method, answer.result) ?? answer)
      : answer;
  }

  async #take({ method, params }: RpcCall): Promise<FakeAnswer | WordedRefusal> {
    const refusing = this.#meter.send();
    if (refusing?.refusal !== undefined && refusing.isTaken !== true)
      return { refusal: refusing.refusal, words: refusing.refusal.words };
    const answer = await this.#ask(method, params);
    const hash = takenHash.exec(JSON.stringify(answer))?.[1];
    if (hash !== undefined) this.#remember(hash);
    return refusing?.refusal === undefined
      ? answer
      : { refusal: refusing.refusal, words: refusing.refusal.words };
  }

  #remember(hash: string): void {
    this.#sent.add(hash);
    const [oldest] = this.#sent;
    if (this.#sent.size > sentMax && oldest !== undefined) this.#sent.delete(oldest);
  }

  async #send(response: ServerResponse, asked: RequestIds, text: string): Promise<void> {
    const limit = this.profile.limits?.answerBytes;
    if (limit !== undefined && text.length > limit.most)
      return refuse(response, refusedBy(limit, text.length), asked);
    const broken = this.#meter.trouble();
    if (broken !== null && (await trouble(response, broken, text))) return;
    response.setHeader("content-type", "application/json");
    response.end(text);
  }
}

/** Resolves when the provider answers. */
export async function startEvmFront(options: EvmFrontOptions): Promise<EvmFront> {
  const front = new EvmFront(options);
  await front.listen();
  return front;
}

function askOf(url: string): Ask {
  const forward = forwarding(url);
  return (method, params) => forward({ id: 1, method, params });
}

function isRefused(answer: FakeAnswer | WordedRefusal): answer is WordedRefusal {
  return "refusal" in answer;
}

/** In a batch a call that is refused by itself has an error of its own. */
function wireOf(answer: FakeAnswer | WordedRefusal): FakeAnswer {
  return isRefused(answer)
    ? { error: { code: answer.refusal.code ?? -32_000, message: answer.words } }
    : answer;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > requestBytesMax) throw new Error("the question is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
