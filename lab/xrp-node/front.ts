/**
 * One provider's address for the chain, on loopback, that speaks rippled's JSON-RPC: with the
 * faults that it was told to have. Several fronts over one chain are several providers, each with
 * troubles of its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf } from "./api.ts";
import type { Chain } from "./chain.ts";
import type { Json } from "./codecs.ts";
import { type Lie, lied } from "./lies.ts";
import { Refusal } from "./refusal.ts";
import type { ReadTransaction } from "./transaction.ts";
import type { Range, View } from "./view.ts";

/** Faults of a provider. All may be combined. */
export interface Trouble {
  readonly lagLedgers?: number; // behind the newest
  readonly holes?: readonly Range[]; // ledgers that its history lacks
  readonly first?: number; // its history begins here
  readonly serverState?: string; // default "full"
  readonly networkId?: number; // says that it is of this network
  readonly openFeeDrops?: bigint; // its own price of the open ledger
  readonly taking?: "takes" | "drops" | "keeps"; // submitted ones: passes on, forgets, or keeps to itself
  readonly lies?: readonly Lie[];
  readonly status?: number; // an HTTP status instead of the answer
  readonly retryAfterS?: number; // with it
  readonly words?: string; // with it, as the body
  readonly isHung?: boolean; // takes the question and never answers
  readonly isCut?: boolean; // breaks the connection after the question
  readonly isCutLate?: boolean; // breaks it when the question has had its effect
  readonly isGarbage?: boolean; // answers something that is no JSON
  readonly delayMs?: number; // before the answer
  readonly times?: number; // so many questions suffer status, words, cuts and lies; default all
  readonly methods?: readonly string[]; // only these suffer them; default all
}

export interface FrontOptions {
  readonly port?: number; // default any
  readonly isClio?: boolean; // answers as Clio, which stands before public servers; default rippled
  readonly pageMost?: number; // transactions in an answer to account_tx, default 400
  /** Newest ledgers that it keeps; default all. */
  readonly keepsLedgers?: number;
  /** Leaves one transaction out behind each page that goes forward (XRPLF/clio #1389). */
  readonly skipsAtBorders?: boolean;
}

const bodyBytesMost = 1024 * 1024;

export class Front {
  readonly #chain: Chain;
  readonly #options: FrontOptions;
  readonly #server: Server;
  readonly #kept = new Map<string, ReadTransaction>();
  readonly counts = new Map<string, number>(); // questions by method
  trouble: Trouble = {};
  #left = Number.POSITIVE_INFINITY; // of `times`

  constructor(chain: Chain, options: FrontOptions = {}) {
    this.#chain = chain;
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
    // Longer than any client of ours keeps a connection: the client closes first.
    this.#server.keepAliveTimeout = 30_000;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port ?? 0, "127.0.0.1", resolve);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** In place of all earlier troubles; `{}` makes it well. */
  suffer(trouble: Trouble): void {
    this.trouble = trouble;
    this.#left = trouble.times ?? Number.POSITIVE_INFINITY;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** The chain as this provider has it now. */
  view(): View {
    const {
      lagLedgers = 0,
      holes = [],
      first,
      serverState = "full",
      networkId,
      openFeeDrops,
      taking = "takes",
    } = this.trouble;
    const chain = this.#chain;
    const head = Math.max(chain.first.index, chain.head.index - lagLedgers);
    return {
      chain,
      head,
      isBehind: lagLedgers > 0,
      first: Math.max(
        first ?? 0,
        chain.first.index,
        head - (this.#options.keepsLedgers ?? Number.POSITIVE_INFINITY) + 1,
      ),
      holes,
      networkId: networkId ?? chain.rules.networkId,
      serverState,
      openFeeDrops: openFeeDrops ?? chain.open.openFeeDrops,
      taking,
      kept: this.#kept,
      isClio: this.#options.isClio === true,
      pageMost: this.#options.pageMost ?? 400,
      skipsAtBorders: this.#options.skipsAtBorders === true,
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, asked } = readQuestion(await bodyOf(request));
    if (method === "") return end(response, 400, "Unable to parse request: ");
    this.counts.set(method, (this.counts.get(method) ?? 0) + 1);
    const isMeant = this.#isMeant(method);
    const { delayMs = 0, isCutLate, lies = [] } = this.trouble;
    if (isMeant && delayMs > 0) await sleep(delayMs);
    if (isMeant && this.#strike(request, response)) return;
    const told = this.#answer(method, asked);
    if (isMeant && isCutLate === true) {
      request.socket.destroy();
      return;
    }
    const result = isMeant ? lied(method, told, lies) : told;
    const isRefused = result.error !== undefined;
    const ending = isRefused
      ? { request: { command: method, ...asked }, status: "error" }
      : { status: "success" };
    const beside = this.#options.isClio === true ? clioNote(method) : {};
    end(response, 200, JSON.stringify({ result: { ...result, ...ending }, ...beside }));
  }

  #answer(method: string, asked: Json): Json {
    try {
      return answerOf(this.view(), method, asked);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.answer;
    }
  }

  #isMeant(method: string): boolean {
    const { methods } = this.trouble;
    if (this.#left <= 0 || (methods !== undefined && !methods.includes(method))) return false;
    this.#left -= 1;
    return true;
  }

  /** True when the question has had its answer, or will have none. */
  #strike(request: IncomingMessage, response: ServerResponse): boolean {
    const {
      status,
      retryAfterS,
      words = "Server is overloaded",
      isHung,
      isCut,
      isGarbage,
    } = this.trouble;
    if (isHung === true) return true;
    if (isCut === true) request.socket.destroy();
    else if (isGarbage === true) end(response, 200, "<html>busy</html>");
    else if (status !== undefined) {
      if (retryAfterS !== undefined) response.setHeader("retry-after", `${retryAfterS}`);
      end(response, status, words);
    } else return false;
    return true;
  }
}

/** Clio's warning on each answer, and its sign that a rippled behind it gave the answer. */
function clioNote(method: string): Json {
  const warnings = [
    { id: 2001, message: "This is a clio server. clio only serves validated data." },
  ];
  return method === "submit" || method === "fee" ? { forwarded: true, warnings } : { warnings };
}

function end(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader("content-type", "application/json; charset=UTF-8");
  response.end(text);
}

/** An empty method for a text that is no question. */
function readQuestion(text: string): { readonly method: string; readonly asked: Json } {
  try {
    const { method, params } = JSON.parse(text) as {
      readonly method?: unknown;
      readonly params?: readonly Json[];
    };
    return { method: typeof method === "string" ? method : "", asked: params?.[0] ?? {} };
  } catch {
    return { method: "", asked: {} };
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > bodyBytesMost) throw new Error("the question is too long");
  }
  return text;
}
