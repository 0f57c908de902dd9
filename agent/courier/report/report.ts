/**
 * Carries the signer's statements to the gateway. After each welcome come all statements that the
 * gateway lacks, then new ones, in ledger order, never twice on one connection. Holds no durable
 * state: the signer makes every frame again from its ledger when asked. Source: docs/protocol.md
 * section 6 (resuming by sequence).
 */
import { envelopeHeaderBytes } from "../../../protocol/envelope.ts";
import type { AgentLedgerHead } from "../../../protocol/messages.ts";
import { parseStatement } from "../../../protocol/payloads.ts";
import type { Link } from "../link/link.ts";

/**
 * With this many bytes waiting, the reporter waits for the kernel; the link itself is cut at 1 MiB.
 */
const bufferedBytesMax = 256 * 1024;
/**
 * A report's answer has at most 1 MiB; statements that the signer sends meanwhile come in addition.
 */
const queuedBytesMax = 4 * 1024 * 1024;
/**
 * Most statements that are kept while an older part is still being fetched. Beyond it they are
 * fetched again instead.
 */
const pushesMax = 256;

export interface ReporterOptions {
  readonly link: Pick<Link, "bufferedBytes" | "send" | "drop">;
  /**
   * The signer's `report` verb: statement envelopes after this seq; empty if there are no more.
   */
  readonly report: (after: number) => Promise<readonly Uint8Array[]>;
  /** Called with the head of each statement as it is handed to the link. */
  readonly onStatement: (head: AgentLedgerHead) => void;
}

/** A complete statement envelope, and its position as the signer gave it. */
export interface StatementFrame {
  readonly frame: Uint8Array;
  readonly after: number;
  readonly head: AgentLedgerHead;
}

export interface Reporter {
  /** After a welcome: the gateway holds everything up to `after`. */
  resume(after: number): void;
  /** A statement the signer pushed. */
  push(statement: StatementFrame): void;
  /** The signer has a statement, which it gives when asked. */
  ask(): void;
  /** The link went down, so all statements on their way are forgotten. */
  pause(): void;
}

export function createReporter(options: ReporterOptions): Reporter {
  let connection: Connection | null = null;
  return {
    resume(after) {
      connection?.end();
      connection = createConnection(options, after);
    },
    push: (statement) => connection?.push(statement),
    ask: () => connection?.ask(),
    pause() {
      connection?.end();
      connection = null;
    },
  };
}

interface Connection {
  push(statement: StatementFrame): void;
  ask(): void;
  end(): void;
}

function createConnection(
  { link, report, onStatement }: ReporterOptions,
  after: number,
): Connection {
  let sentSeq = after;
  let isEnded = false;
  let isFetching = false;
  let isBehind = false;
  let pushes: StatementFrame[] = [];
  const outbox = createOutbox(link);

  /** Returns false if a gap lies between the last sent statement and this one. */
  const take = (statement: StatementFrame): boolean => {
    if (statement.head.seq <= sentSeq) return true;
    if (statement.after !== sentSeq) return false;
    send(statement);
    return true;
  };
  const send = ({ frame, head }: StatementFrame): void => {
    sentSeq = head.seq;
    outbox.send(frame);
    onStatement(head);
  };
  const fetchAll = async (): Promise<void> => {
    let said: string | null = null;
    for (let isMore = true; isMore && !isEnded; ) {
      await outbox.drained();
      isBehind = false;
      const frames = await report(sentSeq);
      if (isEnded) return;
      const before = sentSeq;
      for (const frame of frames) {
        const { handshake, ...statement } = located(frame);
        const { seq } = statement.head;
        // A statement without new entries only confirms the accepted welcome. It is sent unless an
        // earlier statement confirmed the same.
        if (seq < sentSeq || (seq === sentSeq && handshake === said)) continue;
        // The gateway takes only a statement that begins exactly at its own head. If the signer
        // cannot close a gap, the gateway judges it and will close the link.
        send(statement);
        said = handshake;
      }
      isMore = sentSeq > before || isBehind;
    }
  };
  const start = (): void => {
    isFetching = true;
    fetchAll().then(
      () => {
        isFetching = false;
        const waiting = pushes;
        pushes = [];
        for (const statement of waiting) push(statement);
      },
      (error: unknown) => {
        if (!isEnded)
          link.drop(
            "LINK_RESUME",
            error instanceof Error ? error.message : "the signer gave no statements",
          );
      },
    );
  };
  const push = (statement: StatementFrame): void => {
    if (isEnded) return;
    if (!isFetching) {
      if (!take(statement)) start();
    } else if (pushes.length < pushesMax) pushes.push(statement);
    else isBehind = true;
  };

  start();
  return {
    push,
    ask() {
      if (isFetching) isBehind = true;
      else start();
    },
    end() {
      isEnded = true;
      outbox.end();
    },
  };
}

function located(frame: Uint8Array): StatementFrame & { readonly handshake: string } {
  const { after, head, handshake } = parseStatement(frame.subarray(envelopeHeaderBytes));
  return { frame, after, head, handshake };
}

interface Outbox {
  send(frame: Uint8Array): void;
  /**
   * Resolves when every frame so far was handed to the link, and never after the connection ended.
   */
  drained(): Promise<void>;
  end(): void;
}

/** Hands frames to the link in order, as fast as the kernel takes them. */
function createOutbox(link: ReporterOptions["link"]): Outbox {
  const queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let isWaiting = false;
  let onDrained: (() => void) | null = null;

  const pump = (): void => {
    while (queue.length > 0 && !isWaiting) {
      const frame = queue.shift() as Uint8Array;
      queuedBytes -= frame.length;
      isWaiting = link.bufferedBytes + frame.length > bufferedBytesMax;
      if (!link.send(frame, isWaiting ? resume : undefined)) return;
    }
    if (queue.length === 0) onDrained?.();
  };
  const resume = (): void => {
    isWaiting = false;
    pump();
  };
  return {
    send(frame) {
      queue.push(frame);
      queuedBytes += frame.length;
      if (queuedBytes > queuedBytesMax)
        link.drop("LINK_BACKLOG", "the gateway takes reports too slowly");
      else pump();
    },
    drained: () =>
      queue.length === 0 ? Promise.resolve() : new Promise((resolve) => (onDrained = resolve)),
    end() {
      queue.length = 0;
    },
  };
}
