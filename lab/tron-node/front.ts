/**
 * One provider's address for the chain, on loopback: answers as its profile has them, and the
 * faults that it was told to have. Several fronts over one chain are several providers, each with
 * troubles of its own. Paths under /control are no part of java-tron; only tests and the demo
 * use it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Meter } from "../kit/provider/meter.ts";
import { backendAt, behindAt, type Profile } from "../kit/provider/profile.ts";
import { refuse, trouble } from "../kit/provider/reply.ts";
import { malformTron, refusedPath } from "../kit/provider/tron-view.ts";
import { answerOf, errorJson, type View } from "./api.ts";
import type { Chain } from "./chain.ts";
import { type Lie, lied } from "./lies.ts";
import { addressOf, hexText, print, visible } from "./printing.ts";
import type { Json } from "./transaction.ts";

/** Faults of a provider. All may be combined. */
export interface Trouble {
  readonly status?: number; // an HTTP status instead of the answer
  readonly retryAfterS?: number; // with it
  readonly words?: string; // with it, as the body's error
  readonly isHung?: boolean; // takes the question and never answers
  readonly isCut?: boolean; // breaks the connection after the question
  readonly isGarbage?: boolean; // answers something that is no JSON
  readonly times?: number; // so many questions, default permanently
  readonly share?: number; // share of the questions, 0 to 1, by its own random numbers; default all
  readonly paths?: string; // only for paths that contain this text
  readonly lagBlocks?: number; // behind the head, and so much behind what is solidified
  readonly swallows?: boolean; // says yes to transactions and forgets them
  readonly lies?: readonly Lie[];
}

export interface FrontOptions {
  readonly port?: number;
  readonly apiKey?: string; // asked for in TRON-PRO-API-KEY; 401 without it
  readonly estimates?: boolean; // default true
  readonly questionsPerS?: number; // 429 above it; default no bound
  readonly clock?: () => number; // ms, in whose seconds questions are counted; default the real one
  readonly profile?: Profile; // beside the troubles; default a node without limits
}

const bodyBytesMax = 1024 * 1024;
const noLimits: Profile = { name: "plain node", family: "tron", sources: [], isFit: true };
/** A question of Tron's API has no id. */
const lone = { ids: [null], isBatch: false } as const;

export class Front {
  readonly #chain: Chain;
  readonly #options: FrontOptions;
  readonly #server: Server;
  readonly #offered = new Set<string>();
  readonly #control: (verb: string, asked: Json) => unknown;
  readonly #meter: Meter;
  readonly profile: Profile;
  readonly counts = new Map<string, number>(); // questions by path
  trouble: Trouble = {};
  refused = 0; // by the bound on questions
  #left = Number.POSITIVE_INFINITY; // of `times`
  #random = 1;
  #second = { at: 0, count: 0 };

  constructor(
    chain: Chain,
    options: FrontOptions,
    control: (verb: string, asked: Json) => unknown,
  ) {
    this.#chain = chain;
    this.#options = options;
    this.#control = control;
    this.profile = options.profile ?? noLimits;
    this.#meter = new Meter(this.profile, () => performance.now());
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
    // Longer than any client of ours keeps a connection: the client closes first.
    this.#server.keepAliveTimeout = 30_000;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port ?? 0, "127.0.0.1", resolve);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  suffer(trouble: Trouble): void {
    this.trouble = trouble;
    this.#left = trouble.times ?? Number.POSITIVE_INFINITY;
  }

  /** As a process that started again: it remembers no transaction that it was offered. */
  forget(): void {
    this.#offered.clear();
  }

  #view(turn: number): View {
    const { lagBlocks = 0, swallows = false, lies = [] } = this.trouble;
    const behind =
      lagBlocks + behindAt(this.profile, backendAt(this.profile, turn), this.#chain.head.number);
    const head = Math.max(0, this.#chain.head.number - behind);
    const solid = lies.some(({ kind }) => kind === "all-solid")
      ? head
      : Math.max(0, this.#chain.solid - behind);
    const { estimates = true } = this.#options;
    return { chain: this.#chain, head, solid, estimates, offered: this.#offered, swallows };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const asked = await readAsked(request, url);
    if (url.pathname.startsWith("/control/"))
      return send(response, 200, this.#control(url.pathname.slice(9), asked));
    this.counts.set(url.pathname, (this.counts.get(url.pathname) ?? 0) + 1);
    const key = this.#options.apiKey;
    if (key !== undefined && request.headers["tron-pro-api-key"] !== key)
      return send(response, 401, { Error: "ApiKey not exists" });
    if (this.#isTooMany()) {
      this.refused += 1;
      response.setHeader("retry-after", "1");
      return send(response, 429, { Error: "request rate exceeded the allowed_rps" });
    }
    if (this.#strikes(url.pathname) && this.#strike(request, response)) return;
    const turn = this.#meter.begin();
    const refused = this.#meter.admit(1) ?? refusedPath(this.profile, url.pathname);
    if (refused !== null) return refuse(response, refused, lone);
    const answer = this.#answer(this.#view(turn), url.pathname, asked);
    if (answer === undefined) return send(response, 404, { Error: "no such path" });
    const told = this.#isMeant(url.pathname) ? lied(answer, this.trouble.lies ?? []) : answer;
    const text = print((asked.visible === true ? visible(told) : told) ?? {});
    const broken = this.#meter.trouble();
    if (broken !== null && (await trouble(response, broken, text))) return;
    sendText(response, 200, text);
  }

  /** As the profile has it; undefined for a path that there is not. */
  #answer(view: View, path: string, asked: Json): unknown {
    const sends = path.includes("/broadcast") ? this.#meter.send() : null;
    if (sends !== null && sends.isTaken !== true)
      return { code: sends.code ?? "OTHER_ERROR", message: hexText(sends.words ?? "") };
    try {
      const answer = answerOf(view, path, asked);
      const isSolid = path.startsWith("/walletsolidity/");
      return answer === undefined
        ? undefined
        : malformTron(this.profile, path, answer, isSolid ? view.solid : view.head);
    } catch (error) {
      return errorJson(error);
    }
  }

  #isTooMany(): boolean {
    const { questionsPerS, clock = Date.now } = this.#options;
    if (questionsPerS === undefined) return false;
    const at = Math.floor(clock() / 1000);
    this.#second =
      at === this.#second.at ? { at, count: this.#second.count + 1 } : { at, count: 1 };
    return this.#second.count > questionsPerS;
  }

  #strikes(path: string): boolean {
    const { share } = this.trouble;
    if (this.#left <= 0 || !this.#isMeant(path)) return false;
    if (share !== undefined && this.#nextRandom() >= share) return false;
    this.#left -= 1;
    return true;
  }

  #isMeant(path: string): boolean {
    return this.trouble.paths === undefined || path.includes(this.trouble.paths);
  }

  /** True when the question has had its answer, or will have none. */
  #strike(request: IncomingMessage, response: ServerResponse): boolean {
    const { status, retryAfterS, words = "trouble", isHung, isCut, isGarbage } = this.trouble;
    if (isHung === true) return true;
    if (isCut === true) request.socket.destroy();
    else if (isGarbage === true) response.end("<html>busy</html>");
    else if (status !== undefined) {
      if (retryAfterS !== undefined) response.setHeader("retry-after", `${retryAfterS}`);
      send(response, status, { Error: words });
    } else return false;
    return true;
  }

  /** Park and Miller's minimal standard generator: the same troubles in every run. */
  #nextRandom(): number {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random / 2_147_483_647;
  }
}

async function readAsked(request: IncomingMessage, url: URL): Promise<Json> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyBytesMax) throw new Error("the question is too large");
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  const fields = text === "" ? Object.fromEntries(url.searchParams) : (JSON.parse(text) as Json);
  return fields.visible === true && addressOf(fields.value) !== ""
    ? { ...fields, value: addressOf(fields.value) }
    : fields;
}

function send(response: ServerResponse, status: number, answer: unknown): void {
  sendText(response, status, print(answer ?? {}));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  response.end(text);
}
