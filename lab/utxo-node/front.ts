/**
 * One provider's address for the chain of a daemon, on loopback, that speaks the Esplora API: with
 * the faults that it was told to have. Several fronts over one daemon are several providers, each
 * with troubles of its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerOf, type Program, type Reply, sent } from "./api.ts";
import type { ChainIndex, Sight } from "./chain-index.ts";
import type { UtxoNode } from "./daemon.ts";

/** Faults of a provider. All may be combined. */
export interface Trouble {
  readonly lagBlocks?: number; // behind the head
  readonly hasNoMempool?: boolean;
  readonly isOtherChain?: boolean; // another first block
  readonly status?: number; // instead of the answer
  readonly retryAfterS?: number; // with it
  readonly words?: string; // with it, as the body
  readonly isCut?: boolean; // breaks the connection after the question
  readonly swallows?: boolean; // says yes to transactions and forgets them
  readonly times?: number; // so many questions, default permanently
  readonly paths?: RegExp; // only these paths suffer status, words, cuts and lies
  readonly lie?: (body: string) => string; // told in place of the answer
}

export interface FrontOptions {
  readonly rates?: Readonly<Record<string, number>>; // default none, as on a test network
  readonly utxosMax?: number; // default 500, as both programs
  readonly program?: Program; // default electrs
}

const bodyBytesMax = 1024 * 1024;

export class Front {
  readonly #node: UtxoNode;
  readonly #index: ChainIndex;
  readonly #server: Server;
  readonly counts = new Map<string, number>(); // questions by their path's first part
  options: FrontOptions;
  #trouble: Trouble = {};
  #left = Number.POSITIVE_INFINITY;

  constructor(node: UtxoNode, index: ChainIndex, options: FrontOptions = {}) {
    this.#node = node;
    this.#index = index;
    this.options = options;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.statusCode = 503;
        response.end(String(error));
      });
    });
    // Longer than any client of ours keeps a connection: the client closes first.
    this.#server.keepAliveTimeout = 30_000;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api`;
  }

  suffer(trouble: Trouble): void {
    this.#trouble = trouble;
    this.#left = trouble.times ?? Number.POSITIVE_INFINITY;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").replace(/^\/api/, "");
    const body = await bodyOf(request);
    const [, kind = ""] = path.split("/");
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const isMeant = this.#isMeant(path);
    const { status, retryAfterS, words = "", isCut = false, lie } = this.#trouble;
    if (isMeant && isCut) {
      request.socket.destroy();
      return;
    }
    if (isMeant && retryAfterS !== undefined) response.setHeader("retry-after", `${retryAfterS}`);
    const told =
      isMeant && status !== undefined
        ? { status, body: words }
        : await this.#answer(path, request.method, body);
    response.writeHead(told.status);
    response.end(
      isMeant && lie !== undefined && status === undefined ? lie(told.body.toString()) : told.body,
    );
  }

  async #answer(path: string, method: string | undefined, body: string): Promise<Reply> {
    const { rates = {}, utxosMax = 500, program = "electrs" } = this.options;
    const server = { node: this.#node, rates, utxosMax, program };
    if (method === "POST") {
      if (this.#trouble.swallows !== true) return sent(server, body);
      const [decoded] = await this.#node.ask<{ txid: string }[]>("testmempoolaccept", [body]);
      return { status: 200, body: decoded?.txid ?? "" };
    }
    if (this.#trouble.isOtherChain === true && path === "/block-height/0")
      return { status: 200, body: "ab".repeat(32) };
    return answerOf(server, await this.#sight(), path);
  }

  async #sight(): Promise<Sight> {
    const { blocks, mempool } = await this.#index.sight();
    const { lagBlocks = 0, hasNoMempool = false } = this.#trouble;
    return {
      blocks: blocks.slice(0, Math.max(1, blocks.length - lagBlocks)),
      mempool: hasNoMempool || lagBlocks > 0 ? [] : mempool,
    };
  }

  #isMeant(path: string): boolean {
    const { paths } = this.#trouble;
    if (this.#left <= 0 || (paths !== undefined && !paths.test(path))) return false;
    this.#left -= 1;
    return true;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > bodyBytesMax) throw new Error("the question is too long");
  }
  return text;
}
