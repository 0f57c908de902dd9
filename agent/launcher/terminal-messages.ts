/**
 * Reports to an operator who watches `crypto`, in plain words and once per change: link down or up,
 * a chain without a node, the signer locked, withdrawals held. Asks the signer over the operators'
 * socket. A missing answer is not reported.
 */
import { createSocketClient } from "../socket/client.ts";
import type { OperatorAnswers, OperatorRequests, SignerStatus } from "../socket/verbs.ts";
import type { LauncherOutput } from "./output.ts";

const everyMs = 2_000;
const timeoutMs = 5_000;

/** Asks every two seconds between `begin` and `end`. */
export class TerminalStatusPoller {
  readonly #socket: string;
  readonly #say: LauncherOutput["say"];
  readonly #told = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(operatorSocket: string, say: LauncherOutput["say"]) {
    this.#socket = operatorSocket;
    this.#say = say;
  }

  /** May be repeated without harm. */
  begin(): void {
    this.#timer ??= setInterval(() => void this.#look(), everyMs);
  }

  end(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #look(): Promise<void> {
    const client = createSocketClient<OperatorRequests, OperatorAnswers>(this.#socket, {
      timeoutMs,
    });
    try {
      const answer = await client.request("status", {});
      if (answer.ok)
        for (const [topic, words] of messagesOfStatus(answer.status)) this.#sayChange(topic, words);
    } catch {
      // The supervisor reports a signer that is gone.
    } finally {
      client.close();
    }
  }

  /** A topic without a problem from the beginning is not reported. */
  #sayChange(topic: string, { bad, good, detail = "" }: Words): void {
    const words = bad === "" ? good : bad;
    const before = this.#told.get(topic) ?? good;
    this.#told.set(topic, words);
    if (words === before) return;
    if (bad === "") this.#say("trouble-over", words);
    else this.#say("trouble-began", detail === "" ? words : `${words} (${detail})`);
  }
}

interface Words {
  readonly bad: string; // "" when all is well
  readonly good: string;
  readonly detail?: string; // may change at every look, so only a change of it is not reported
}

const recoveryNews: Readonly<Record<string, string>> = {
  RECOVERY_OFFERED:
    "the gateway offers a recovery: look at it with recover; nothing is signed before",
  RECOVERY_HOLD: "in recovery: every withdrawal is held, until recover --finish",
};

/** The text for each topic: "lock", "recovery", "held", "link", "chain NAME". */
export function messagesOfStatus({
  locked,
  lockedDetail,
  recovery,
  courier,
  counts,
}: SignerStatus): ReadonlyMap<string, Words> {
  const news = new Map<string, Words>();
  news.set("lock", {
    bad:
      locked === ""
        ? ""
        : `LOCKED (${locked}): ${lockedDetail}; nothing is signed until an operator has looked`,
    good: "the signer signs again",
  });
  news.set("recovery", { bad: recoveryNews[recovery] ?? "", good: "the recovery has ended" });
  const waiting = counts.held + counts.quarantined;
  news.set("held", {
    bad: waiting === 0 ? "" : `${waiting} held: see withdrawals --open, then approve or refuse`,
    good: "nothing waits for an operator",
  });
  if (courier === null) return news;
  news.set("link", {
    bad:
      courier.link === "up" ? "" : "the link to the gateway is down; it is tried again and again",
    good: "the link to the gateway is up",
    detail: courier.linkDetail,
  });
  for (const { chain, ok, isAsking, detail } of courier.chains) {
    if (isAsking) continue;
    news.set(`chain ${chain}`, {
      bad: ok ? "" : `too few nodes of ${chain} can be used; they are tried again and again`,
      good: `the nodes of ${chain} answer`,
      detail,
    });
  }
  return news;
}
