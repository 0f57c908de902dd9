/**
 * The Esplora API of one node, or of a provider that serves it: GET of texts, JSON and raw blocks,
 * and POST of signed bytes, over kept connections and bounded in time and size. A user and password
 * in the address are sent as its login. Reaches only that provider. Sources: the API's description
 * in its repository (API.md); Blockstream/esplora #282 ("Too many history entries" in words only).
 */
import type { CanonicalText } from "../providers/canonical-text.ts";
import type { ProviderRefusal } from "../providers/node-pool.ts";
import { failureOfRefusingStatus } from "../providers/node-quota.ts";
import { cleanNodeText, wordsInBody } from "../providers/node-words.ts";
import { type Answer, createQuestionQueue } from "../providers/question-queue.ts";
import {
  type BytesOutcome,
  basicAuthHeadersOf,
  type Exchange,
  getJson,
  isPassingStatus,
  type NodeAddress,
  newFailure,
  type Outcome,
  postJson,
  targetOf,
} from "../providers/rpc-post.ts";
import { statusFailure } from "../providers/status-failure.ts";

export interface EsploraOptions {
  readonly url: NodeAddress; // http or https; the part before /blocks, /tx and /address
  readonly timeoutMs: number; // time limit of one exchange, with its connection
  readonly patienceMs: number; // time limit of one question, with the pauses for a provider at its quota
}

export interface EsploraQuestion {
  readonly path: CanonicalText;
  readonly answerBytesMax: number;
  /** Signed bytes as hex: a write, sent at most once. */
  readonly body?: string;
}

/** The answer of the API, or its own words for a refusal. */
export type EsploraAnswer =
  | { readonly ok: true; readonly bytes: Buffer }
  | {
      readonly ok: false;
      readonly status: number;
      readonly isAbsent: boolean;
      readonly words: string;
    };

export interface Esplora {
  readonly origin: string; // scheme, host and port: the only part of the address that may be shown
  /**
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_PATH, NODE_QUOTA, NODE_ANSWER,
   * NODE_ANSWER_SIZE, NODE_CLOSED; effect is none for reads
   */
  ask(question: EsploraQuestion): Promise<EsploraAnswer>;
  refusal(): ProviderRefusal | null;
  close(): void;
}

type Question = EsploraQuestion & { readonly isWrite: boolean };

/** The API refuses with short words of its own; a page is a proxy's. */
const wordsMax = 2_048;
const pageForm = /^\s*<(?:!doctype|html|head)/i;
const absentForm = /not found|no such/i;

/** @throws NODE_URL */
export function createEsplora({ url, timeoutMs, patienceMs }: EsploraOptions): Esplora {
  const target = targetOf(url);
  const [folder = "", query] = target.path.split("?");
  const wholePathOf = (path: string): string =>
    folder.replace(/\/+$/, "") + path + (query === undefined ? "" : `?${query}`);
  const { origin } = target;
  const queue = createQuestionQueue<Question, EsploraAnswer>({
    origin,
    timeoutMs,
    patienceMs,
    send: ({ path, body, answerBytesMax: bytesMax }, timeLeft, done): Exchange => {
      const request = { target, path: wholePathOf(path), bytesMax, timeoutMs: timeLeft };
      if (body === undefined) return getJson(request, (outcome) => done(read(outcome, path)));
      const headers = { ...basicAuthHeadersOf(target), "content-type": "text/plain" };
      return postJson({ ...request, headers, body }, (outcome) =>
        done(read(bytesOf(outcome), path)),
      );
    },
    close: () => target.close(),
  });
  return {
    origin,
    ask: (question) => queue.ask({ ...question, isWrite: question.body !== undefined }),
    refusal: queue.refusal,
    close: queue.close,
  };
}

function bytesOf(outcome: Outcome): BytesOutcome {
  if (!outcome.ok) return outcome;
  const { status, retryAfter, body } = outcome;
  return { ok: true, status, retryAfter, bytes: Buffer.from(body, "utf8") };
}

function read(outcome: BytesOutcome, path: string): Answer<EsploraAnswer> {
  if (!outcome.ok) return outcome;
  const { status, retryAfter, bytes } = outcome;
  const isPage = pageForm.test(bytes.toString("latin1", 0, 64));
  if (status >= 200 && status < 300)
    return isPage
      ? newFailure("NODE_ANSWER", "the answer is a page", { isCut: isPassingStatus(status) })
      : { ok: true, value: { ok: true, bytes } };
  const body = bytes.toString("utf8", 0, wordsMax);
  const quota = failureOfRefusingStatus({ status, retryAfter, body });
  if (quota !== null) return quota;
  // Signed bytes that the node refuses are answered with 400, or 500 by older servers.
  const isOwn =
    (status === 400 || status === 404 || status === 500) &&
    !isPage &&
    bytes.length <= wordsMax &&
    body.trim() !== "";
  if (!isOwn) return statusFailure(status, body, path);
  const words = refusalWords(body);
  return {
    ok: true,
    value: { ok: false, status, isAbsent: status === 404 && absentForm.test(words), words },
  };
}

/** The node's own reason, out of the words that the server puts around it. */
function refusalWords(body: string): string {
  const own = /"message"\s*:\s*"([^"]{1,300})"/.exec(body)?.[1];
  return own === undefined ? wordsInBody(body) : cleanNodeText(own);
}
