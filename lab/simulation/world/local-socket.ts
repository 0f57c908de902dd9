/**
 * The AF_UNIX socket between courier and signer without bytes: requests go to the signer's real
 * verbs, answers and pushes come back in order. When either end dies the other learns of it, as the
 * kernel would tell it.
 */
import type { SocketClient } from "../../../agent/socket/client.ts";
import type {
  Answer,
  CourierAnswers,
  CourierRequests,
  PushMessage,
  Request,
} from "../../../agent/socket/verbs.ts";
import { AgentError } from "../../../base/fault.ts";
import { must } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";

const delayMs = 0.1;

/** The listening end: a signer that is up. */
export interface ListeningSigner {
  readonly owner: Owner;
  readonly courierVerbs: (request: Request, answer: (answer: Answer) => void) => void;
  readonly sockets: Set<LocalSocket>;
}

/** A request as its courier means it; what comes in its place. */
export type RequestChange = (verb: string, body: object) => object;

interface WaitingCall {
  readonly resolve: (answer: never) => void;
  readonly reject: (fault: AgentError) => void;
}

export class LocalSocket implements SocketClient<CourierRequests, CourierAnswers> {
  readonly #owner: Owner;
  readonly #signer: ListeningSigner | null;
  readonly #waiting = new Map<number, WaitingCall>();
  readonly #seen: (message: Answer | PushMessage) => void;
  readonly #touched: RequestChange | null;
  #onPush: (push: PushMessage) => void = () => {};
  #onClose: (reason: AgentError) => void = () => {};
  #ended: AgentError | null = null;
  #nextId = 1;

  /**
   * `seen` is told of everything that leaves the signer; `touched` says what really goes in, null
   * if the product's own courier does not ask.
   */
  constructor(
    owner: Owner,
    signer: ListeningSigner | null,
    seen: (message: Answer | PushMessage) => void,
    touched: RequestChange | null = null,
  ) {
    this.#owner = owner;
    this.#touched = touched;
    this.#signer = signer?.owner.isAlive === true ? signer : null;
    this.#seen = seen;
    this.#signer?.sockets.add(this);
    if (this.#signer === null)
      kernel.scheduler.after(delayMs, owner, () =>
        this.#end(closedFault("SOCKET_UNREACHABLE", "none")),
      );
  }

  request<V extends keyof CourierRequests & string>(
    verb: V,
    body: CourierRequests[V],
  ): Promise<never> {
    const signer = this.#signer;
    if (this.#ended !== null || signer === null)
      return Promise.reject(closedFault("SOCKET_UNREACHABLE", "none"));
    if (!this.#owner.isAlive) return new Promise(() => {});
    const id = this.#nextId++;
    const { scheduler } = kernel;
    note(`asks ${verb}`, id);
    scheduler.after(delayMs, signer.owner, () => {
      note(`hears ${verb}`, id);
      const sent = this.#touched === null ? body : this.#touched(verb, body);
      const isItsOwn = this.#touched !== null && sent === body;
      signer.courierVerbs({ id, verb, ...sent }, (answer) => {
        if (isItsOwn) hasForm(verb, answer);
        this.#answered(signer, answer);
      });
    });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** From the signer; dropped when it died in the act. */
  #answered(signer: ListeningSigner, answer: Answer): void {
    if (!signer.owner.isAlive) return;
    this.#seen(answer);
    if (!signer.owner.isAlive) return;
    note(
      "answers",
      answer.ok ? "ok" : answer.code,
      () => `${answer.id} ${answer.ok ? "ok" : `${answer.code} ${answer.detail}`}`,
    );
    kernel.scheduler.after(delayMs, this.#owner, () => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      const { id: _id, ...rest } = answer;
      waiting?.resolve(rest as never);
    });
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  push(message: PushMessage): void {
    if (this.#ended !== null) return;
    this.#seen(message);
    if (this.#signer?.owner.isAlive !== true) return;
    kernel.scheduler.after(delayMs, this.#owner, () => {
      if (this.#ended === null) this.#onPush(message);
    });
  }

  /** The signer's process ended. */
  lost(): void {
    kernel.scheduler.after(delayMs, this.#owner, () =>
      this.#end(closedFault("SOCKET_CLOSED", "unknown")),
    );
  }

  onPush(listener: (push: PushMessage) => void): void {
    this.#onPush = listener;
  }

  onClose(listener: (reason: AgentError) => void): void {
    if (this.#ended !== null) listener(this.#ended);
    else this.#onClose = listener;
  }

  close(): void {
    this.#end(closedFault("SOCKET_CLOSED", "unknown"));
  }

  #end(reason: AgentError): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    this.#signer?.sockets.delete(this);
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
    this.#onClose(reason);
  }
}

/** A field that only one of the two processes knows keeps the whole request from the signer. */
function hasForm(verb: string, answer: Answer): void {
  must(
    answer.ok || answer.code !== "JSON_SHAPE",
    "the signer can read each request of its own courier",
    () => (answer.ok ? verb : `${verb}: ${answer.detail}`),
  );
}

function closedFault(
  code: "SOCKET_UNREACHABLE" | "SOCKET_CLOSED",
  effect: "none" | "unknown",
): AgentError {
  return new AgentError(code, effect, "the socket is closed: simulated");
}
