/**
 * A simulated node's provider: what of its profile shows without HTTP. A refusal with a status, and
 * a body that nobody can read, come as the fault that the product's client makes of them; other
 * refusals, lagging backends and odd fields as the node's own answers. Limits of time are left out:
 * a simulated answer takes none.
 */
import { AgentError } from "../../../base/fault.ts";
import { refusedAnswer, refusedCall } from "../../kit/provider/evm-view.ts";
import { Meter, type WordedRefusal } from "../../kit/provider/meter.ts";
import { malform, type OutsiderFound, outsiderFound } from "../../kit/provider/odd-fields.ts";
import { type BodyTrouble, backendAt, behindAt, type Profile } from "../../kit/provider/profile.ts";
import { ofOneChain, profileNamed } from "../../kit/provider/profiles.ts";
import { malformTron, refusedPath } from "../../kit/provider/tron-view.ts";
import type { Plan } from "./plan.ts";

type Envelope =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly code: number; readonly message: string };

/** Nothing of a profile that is told by its name; "" has no limits. */
export function providerNamed(family: Profile["family"], name: string): Provider {
  return new Provider(profileNamed(family, name === "" ? "plain node" : name));
}

/** The providers of a chain's nodes, by a plan: all of them show the same kinds of transactions. */
export function providersOf({
  family,
  providers,
}: Pick<Plan, "family" | "providers">): readonly Provider[] {
  if (family !== "evm" && family !== "tron") return [];
  const all = providers.map((name) => profileNamed(family, name === "" ? "plain node" : name));
  return ofOneChain(all).map((profile) => new Provider(profile));
}

export class Provider {
  readonly #profile: Profile;
  readonly #meter: Meter;
  #turn = 0;

  constructor(profile: Profile) {
    const { limits = {}, ...others } = profile;
    const { perSecond, quota, batchCalls, answerBytes, ...timeless } = limits;
    this.#profile = { ...others, limits: timeless };
    this.#meter = new Meter(this.#profile, () => 0);
  }

  /** Counts one question. @throws AgentError where its answer is none */
  begin(method: string, isWrite: boolean): void {
    this.#turn = this.#meter.begin();
    const broken = this.#trouble(isWrite);
    if (broken === null || broken.kind === "slow") return;
    const effect = isWrite ? "unknown" : "none";
    if (broken.kind === "cut" || broken.kind === "hang")
      throw new AgentError(
        "NODE_UNREACHABLE",
        effect,
        "connection closed in the middle of an answer",
        { method },
      );
    if (broken.kind === "page")
      throw new AgentError("NODE_HTTP", effect, "HTTP status 502", { method });
    throw new AgentError("NODE_ANSWER", effect, "the answer is not JSON", { method });
  }

  /** The client asks a read once more where no answer of the node's came. */
  #trouble(isWrite: boolean): BodyTrouble | null {
    const broken = this.#meter.trouble();
    if (broken === null || isWrite || broken.kind === "hang" || broken.kind === "slow")
      return broken;
    this.#turn = this.#meter.begin();
    return this.#meter.trouble();
  }

  /** Blocks that the backend of this question is behind. */
  behind(head: number): number {
    return behindAt(this.#profile, backendAt(this.#profile, amongOthers(this.#turn)), head);
  }

  /** The envelope of a refusal; null where the call goes on. @throws AgentError NODE_HTTP */
  refusal(method: string, params: readonly unknown[]): Envelope | null {
    return told(refusedCall(this.#profile, { id: 0, method, params }), method);
  }

  /** The answer to a send in the place of the node's own; `isTaken` where the chain has it. */
  send(): {
    readonly isTaken: boolean;
    readonly answer: () => Envelope;
    readonly code: string;
  } | null {
    const trouble = this.#meter.send();
    if (trouble === null) return null;
    const { isTaken = false, refusal, code = "", words = "" } = trouble;
    const refused = refusal === undefined ? null : { refusal, words: refusal.words };
    return {
      isTaken,
      code,
      answer: () => told(refused, "send") ?? { ok: false, code: -32_000, message: words },
    };
  }

  /** A transaction that this provider's blocks show beside the chain's own. */
  outsider(hash: string): OutsiderFound | null {
    return outsiderFound(this.#profile, hash);
  }

  /** An honest result as this provider writes it. @throws AgentError NODE_HTTP */
  envelope(method: string, params: readonly unknown[], result: unknown, head: number): Envelope {
    const refused = told(refusedAnswer(this.#profile, method, result), method);
    if (refused !== null) return refused;
    const view = {
      profile: this.#profile,
      backend: { behind: 0 },
      head,
      ask: unasked,
      isOurs: () => true,
    };
    return { ok: true, result: malform(view, { id: 0, method, params }, result) };
  }

  /** The same for Tron's HTTP API. @throws AgentError NODE_HTTP */
  fields(path: string, answer: unknown, head: number): unknown {
    const refused = refusedPath(this.#profile, path);
    if (refused !== null) throw new AgentError("NODE_HTTP", "none", refused.words, { path });
    return malformTron(this.#profile, path, answer, head);
  }
}

function told(refused: WordedRefusal | null, method: string): Envelope | null {
  if (refused === null) return null;
  const { status = 200, code = -32_000 } = refused.refusal;
  const effect = method === "send" ? "unknown" : "none";
  if (status !== 200)
    throw new AgentError("NODE_HTTP", effect, `HTTP status ${status}: ${refused.words}`, {
      method,
    });
  return { ok: false, code, message: refused.words };
}

function unasked(): never {
  throw new Error("a simulated provider asks its chain nothing");
}

/**
 * A balancer has other clients too. Without them, a gateway that asks the same number of questions
 * in each pass would meet the same backend with the same question in every pass.
 */
function amongOthers(turn: number): number {
  return Math.imul(turn, 0x9e3779b1) >>> 16;
}
