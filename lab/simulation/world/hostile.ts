/**
 * A courier that somebody has taken over: beside the real one it has a connection of its own to the
 * signer and the link's frames to show again. It sends any verb with any content, keeps every byte
 * that was ever released, and publishes it when it hurts.
 */
import { type FramedOffer, framedOffer } from "../../../agent/socket/offered.ts";
import type { CourierRequests, CourierView } from "../../../agent/socket/verbs.ts";
import type { TxParams } from "../../../chains/family.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { statedBelow } from "./false-sightings.ts";
import { LocalSocket } from "./local-socket.ts";
import type { Scene } from "./scene.ts";
import { chainName } from "./setting.ts";

type Body = Readonly<Record<string, unknown>>;

const verbs = [
  "hello",
  "admit",
  "sign",
  "replace",
  "release",
  "sightings",
  "decline",
  "observed",
  "adopt",
  "account",
  "report",
  "tell",
  "sing",
] as const;
const rushedFramesMax = 24;
/** One request in so many, where gateway and courier lie with one mind. */
const madeUpEndOf = 6;
const codes = ["CHAIN_WOULD_REVERT", "OPERATOR_REFUSED", "nothing", ""] as const;

export class HostileCourier {
  readonly #world: Scene;
  readonly #owner: Owner = { name: "hostile", isAlive: true, hasPromises: true };
  readonly #bytes: string[] = [];
  #socket: LocalSocket | null = null;
  #handshakeDone: unknown = null; // the run of the signer that was met last
  #views: readonly CourierView[] = [];

  constructor(world: Scene) {
    this.#world = world;
  }

  keep(raw: string): void {
    this.#bytes.push(raw);
  }

  /** Some acts at once. */
  act(): void {
    const { random, scheduler } = kernel;
    for (let count = random.between("hostile acts", 1, 4); count > 0; count -= 1) {
      if (random.below("publishes", 5) === 0) this.#publish();
      else if (random.below("hurries", 4) === 0) this.#hurry();
      else scheduler.after(random.below("hostile delay", 300), this.#owner, () => this.#ask());
    }
  }

  /** The taken courier's own requests to sign: now and then it names a price of its own. */
  touched(verb: string, body: object): object {
    if (verb !== "sign" && verb !== "replace") return body;
    if (kernel.random.below("names its own price", 2) > 0) return body;
    const { transactionId = "" } = body as { readonly transactionId?: string };
    return {
      ...body,
      ...this.#proven(this.#world.chainFixture.hostilities.txParams(transactionId)),
    };
  }

  #publish(): void {
    const raw = this.#bytes[kernel.random.below("which bytes", Math.max(1, this.#bytes.length))];
    if (raw !== undefined) this.#world.chainFixture.publish(raw);
  }

  #connected(machine: Scene["machines"][number]): LocalSocket {
    if (this.#socket === null || this.#socket.isEnded) {
      this.#socket = new LocalSocket(this.#owner, machine.signer, (message) =>
        this.#world.observer.seen(machine, message),
      );
    }
    return this.#socket;
  }

  /**
   * A new run has begun, and the gateway may not have spoken yet: everything it ever said, and a
   * signature for whatever is open.
   */
  #rush(machine: Scene["machines"][number]): void {
    const socket = this.#connected(machine);
    const send = (verb: keyof CourierRequests, body: Body): Promise<Body> =>
      socket.request(verb, body as never) as Promise<Body>;
    const drop = (): void => {};
    send("hello", {}).then(({ open }) => {
      if (!Array.isArray(open)) return;
      this.#views = open as readonly CourierView[];
      const frames = this.#world.net.remembered.down.slice(0, rushedFramesMax);
      for (const frame of frames) send("admit", { frames: [frame] }).catch(drop);
      for (const { transactionId } of this.#views)
        send("sign", {
          transactionId,
          ...this.#proven(this.#world.chainFixture.hostilities.fair(undefined, transactionId)),
        }).catch(drop);
    }, drop);
  }

  #ask(): void {
    const { random } = kernel;
    const [machine] = this.#world.machines;
    if (machine === undefined) return;
    if (machine.signer !== null && machine.signer !== this.#handshakeDone) {
      this.#handshakeDone = machine.signer;
      this.#rush(machine);
      return;
    }
    const socket = this.#connected(machine);
    const isMadeUp =
      this.#world.plan.unnamed === "both" && random.below("makes up an end", madeUpEndOf) === 0;
    const verb = isMadeUp ? "observed" : random.pick("hostile verb", verbs);
    const body = isMadeUp
      ? this.#madeUpEnd()
      : random.below("hostile garbage", 12) === 0
        ? this.#garbage()
        : this.#body(verb);
    const asked = socket.request(verb as keyof CourierRequests, body as never) as Promise<Body>;
    asked.then(
      (answer) => {
        if (Array.isArray(answer.open)) this.#views = answer.open as readonly CourierView[];
      },
      () => {},
    );
  }

  /**
   * A signature for what is approved, with less gas than it needs, a replacement with a higher fee
   * of whatever is out, and the end of both, all in one moment.
   */
  #hurry(): void {
    const [machine] = this.#world.machines;
    if (machine === undefined || machine.signer === null) return;
    const socket = this.#connected(machine);
    const drop = (): void => {};
    for (const { transactionId, state, attempts, contract } of this.#views) {
      const { hostilities } = this.#world.chainFixture;
      const hurried = this.#proven(hostilities.hurried(transactionId));
      if (state === "approved") socket.request("sign", { transactionId, ...hurried }).catch(drop);
      else if (attempts.length > 0)
        socket
          .request("replace", {
            ...{ transactionId, above: attempts.length },
            ...this.#proven(hostilities.fair(contract, transactionId)),
          })
          .catch(drop);
      // A withdrawal that has a slot by now, though no signature yet, cannot be ended as never
      // signed.
      if (kernel.random.below("declines it at once", 3) === 0)
        socket.request("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).catch(drop);
    }
    socket.request("hello", {}).then(({ open }) => {
      this.#views = open;
    }, drop);
  }

  /** An end of whatever is out, as nobody's chain has it. */
  #madeUpEnd(): Body {
    const { random } = kernel;
    const out = this.#views.filter(({ attempts }) => attempts.some(({ raw }) => raw !== undefined));
    const { transactionId = "", attempts = [] } =
      out[random.below("ends which", Math.max(1, out.length))] ?? {};
    const outcome = random.pick("made-up outcome", ["paid", "reverted"] as const);
    return {
      transactionId,
      stage: "final",
      outcome,
      txHash: attempts.at(-1)?.txHash ?? "",
      block: 1,
    };
  }

  #garbage(): Body {
    const { random } = kernel;
    return random.pick("garbage", [
      {},
      { frames: ["AAAA"] },
      { transactionId: 7 },
      { frames: null, extra: [] },
      { transactionId: "x".repeat(2_000) },
    ]);
  }

  #body(verb: (typeof verbs)[number]): Body {
    const { random } = kernel;
    const proven = this.#proven(this.#world.chainFixture.hostilities.txParams());
    const view = this.#views[random.below("hostile view", Math.max(1, this.#views.length))];
    const transactionId =
      view === undefined || random.below("made-up id", 5) === 0
        ? random.bytes("made-up id", 16).toString("hex")
        : view.transactionId;
    const quorum = random.between("witnesses", 1, 5);
    switch (verb) {
      case "admit":
      case "release":
      case "sightings":
        return { frames: [this.#frame()] };
      case "sign":
        return { transactionId, ...proven };
      case "replace": {
        const above = view?.attempts.length || random.between("hostile above", 1, 3);
        return { transactionId, above, ...proven };
      }
      case "decline":
        return { transactionId, code: random.pick("hostile code", codes) };
      case "observed": {
        const named = view?.attempts.at(-1)?.txHash ?? this.#world.chainFixture.hostilities.noHash;
        if (this.#world.chainFixture.evm === null && random.below("calls it dead", 2) === 0)
          return {
            transactionId,
            stage: "void",
            outcome: "",
            txHash: named,
            block: random.below("hostile block", 50),
            quorum,
          };
        const stage = random.pick("stage", ["broadcast", "included", "final"] as const);
        const outcome =
          stage === "final"
            ? random.pick("outcome", ["paid", "reverted", "conflicted", "cancelled"] as const)
            : "";
        return {
          transactionId,
          stage,
          outcome,
          txHash: named,
          block: random.below("hostile block", 50),
        };
      }
      case "adopt":
      case "account":
        return { chain: chainName, slot: this.#slot(verb), quorum };
      case "report":
        return { after: random.below("hostile after", 40) };
      default:
        return {};
    }
  }

  /** The one that the gateway states too, where both lie. */
  #slot(verb: "adopt" | "account"): string {
    const { unnamed, firstNonce } = this.#world.plan;
    const isAgreed =
      unnamed === "both" && verb === "adopt" && kernel.random.below("as agreed", 3) > 0;
    if (isAgreed) return `${Math.max(0, firstNonce - statedBelow)}`;
    return `${this.#slotsFrom + kernel.random.below("hostile nonce", 12)}`;
  }

  /** Just below the account's first slot, or at the beginning. */
  get #slotsFrom(): number {
    return Math.max(0, this.#world.plan.firstNonce - 6);
  }

  /** Parameters, and the transactions that made their coins. */
  #proven(txParams: TxParams): FramedOffer {
    const evidence = this.#world.chainFixture.hostilities.evidence?.(txParams);
    return framedOffer({ txParams, ...(evidence === undefined ? {} : { evidence }) });
  }

  /** A frame that passed once, whole or touched. */
  #frame(): Uint8Array {
    const { random } = kernel;
    const { down, up } = this.#world.net.remembered;
    const from = random.below("whose frames", 6) === 0 ? up : down;
    const frame = Buffer.from(
      from[random.below("which frame", Math.max(1, from.length))] ?? Buffer.alloc(70),
    );
    if (random.below("touch it", 6) === 0)
      frame[random.below("touched at", frame.length)] = random.below("touched to", 256);
    return frame;
  }
}
