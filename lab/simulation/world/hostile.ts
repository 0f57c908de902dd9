/**
 * A courier that somebody has taken over: beside the real one it has a connection of its own to the
 * signer and the link's frames to show again. It sends any verb with any content, keeps every byte
 * that was ever released, and publishes it when it hurts.
 */
import type { CourierRequests, CourierView } from "../../../agent/socket/verbs.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
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
  "decline",
  "observed",
  "adopt",
  "account",
  "report",
  "tell",
  "sing",
] as const;
const rushedFramesMax = 24;
const codes = ["CHAIN_WOULD_REVERT", "OPERATOR_REFUSED", "nothing", ""] as const;

export class Hostile {
  readonly #world: Scene;
  readonly #owner: Owner = { name: "hostile", isAlive: true, hasPromises: true };
  readonly #bytes: string[] = [];
  #socket: LocalSocket | null = null;
  #greeted: unknown = null; // the run of the signer that was met last
  #views: readonly CourierView[] = [];

  constructor(world: Scene) {
    this.#world = world;
  }

  keep(raw: string): void {
    this.#bytes.push(raw);
  }

  /** Some acts at once. */
  act(): void {
    const { chance, scheduler } = kernel;
    for (let count = chance.between("hostile acts", 1, 4); count > 0; count -= 1) {
      if (chance.below("publishes", 5) === 0) this.#publish();
      else if (chance.below("hurries", 4) === 0) this.#hurry();
      else scheduler.after(chance.below("hostile delay", 300), this.#owner, () => this.#ask());
    }
  }

  /** The taken courier's own requests to sign: now and then it names a price of its own. */
  touched(verb: string, body: object): object {
    if (verb !== "sign" && verb !== "replace") return body;
    return kernel.chance.below("names its own price", 2) === 0 ? { ...body, facts: this.#facts() } : body;
  }

  #publish(): void {
    const raw = this.#bytes[kernel.chance.below("which bytes", Math.max(1, this.#bytes.length))];
    if (raw !== undefined) this.#world.ground.publish(raw);
  }

  #connected(machine: Scene["machines"][number]): LocalSocket {
    if (this.#socket === null || this.#socket.isEnded) {
      this.#socket = new LocalSocket(this.#owner, machine.signer, (message) => this.#world.witness.seen(machine, message));
    }
    return this.#socket;
  }

  /**
   * A new run has begun, and the gateway may not have spoken yet: everything it ever said, and a
   * signature for whatever is open.
   */
  #rush(machine: Scene["machines"][number]): void {
    const socket = this.#connected(machine);
    const send = (verb: keyof CourierRequests, body: Body): Promise<Body> => socket.request(verb, body as never) as Promise<Body>;
    const drop = (): void => {};
    send("hello", {}).then(({ open }) => {
      if (!Array.isArray(open)) return;
      this.#views = open as readonly CourierView[];
      const frames = this.#world.net.remembered.down.slice(0, rushedFramesMax);
      for (const frame of frames) send("admit", { frames: [frame] }).catch(drop);
      for (const { transactionId } of this.#views)
        send("sign", { transactionId, facts: this.#world.ground.hostilities.fair() }).catch(drop);
    }, drop);
  }

  #ask(): void {
    const { chance } = kernel;
    const [machine] = this.#world.machines;
    if (machine === undefined) return;
    if (machine.signer !== null && machine.signer !== this.#greeted) {
      this.#greeted = machine.signer;
      this.#rush(machine);
      return;
    }
    const socket = this.#connected(machine);
    const verb = chance.pick("hostile verb", verbs);
    const body = chance.below("hostile garbage", 12) === 0 ? this.#garbage() : this.#body(verb);
    const asked = socket.request(verb as keyof CourierRequests, body as never) as Promise<Body>;
    asked.then(
      (answer) => {
        if (Array.isArray(answer.open)) this.#views = answer.open as readonly CourierView[];
      },
      () => {},
    );
  }

  /**
   * A signature for what is approved, with less gas than it needs, a dearer version of whatever is
   * out, and the end of both, all in one moment.
   */
  #hurry(): void {
    const [machine] = this.#world.machines;
    if (machine === undefined || machine.signer === null) return;
    const socket = this.#connected(machine);
    const drop = (): void => {};
    for (const { transactionId, state, versions, contract } of this.#views) {
      const { hostilities } = this.#world.ground;
      const facts = hostilities.hurried();
      if (state === "approved") socket.request("sign", { transactionId, facts }).catch(drop);
      else if (versions.length > 0)
        socket.request("replace", { transactionId, above: versions.length, facts: hostilities.fair(contract) }).catch(drop);
      // A withdrawal that has a slot by now, though no signature yet, cannot be ended as never
      // signed.
      if (kernel.chance.below("declines it at once", 3) === 0)
        socket.request("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }).catch(drop);
    }
    socket.request("hello", {}).then(({ open }) => {
      this.#views = open;
    }, drop);
  }

  #garbage(): Body {
    const { chance } = kernel;
    return chance.pick("garbage", [
      {},
      { frames: ["AAAA"] },
      { transactionId: 7 },
      { frames: null, extra: [] },
      { transactionId: "x".repeat(2_000) },
    ]);
  }

  #body(verb: (typeof verbs)[number]): Body {
    const { chance } = kernel;
    const facts = this.#facts();
    const view = this.#views[chance.below("hostile view", Math.max(1, this.#views.length))];
    const transactionId =
      view === undefined || chance.below("made-up id", 5) === 0
        ? chance.bytes("made-up id", 16).toString("hex")
        : view.transactionId;
    const witnesses = chance.between("witnesses", 1, 5);
    switch (verb) {
      case "admit":
      case "release":
        return { frames: [this.#frame()] };
      case "sign":
        return { transactionId, facts };
      case "replace":
        return { transactionId, above: view?.versions.length || chance.between("hostile above", 1, 3), facts };
      case "decline":
        return { transactionId, code: chance.pick("hostile code", codes) };
      case "observed": {
        const named = view?.versions.at(-1)?.txHash ?? this.#world.ground.hostilities.noHash;
        if (this.#world.ground.evm === null && chance.below("calls it dead", 2) === 0)
          return {
            transactionId,
            stage: "dead",
            outcome: "",
            txHash: named,
            block: chance.below("hostile block", 50),
            witnesses,
          };
        const stage = chance.pick("stage", ["broadcast", "included", "final"] as const);
        const outcome = stage === "final" ? chance.pick("outcome", ["paid", "reverted", "lost", "cancelled"] as const) : "";
        return { transactionId, stage, outcome, txHash: named, block: chance.below("hostile block", 50) };
      }
      case "adopt":
      case "account":
        return { chain: chainName, slot: `${chance.below("hostile nonce", 12)}`, witnesses };
      case "report":
        return { after: chance.below("hostile after", 40) };
      default:
        return {};
    }
  }

  #facts(): Body {
    return this.#world.ground.hostilities.facts();
  }

  /** A frame that passed once, whole or touched. */
  #frame(): Uint8Array {
    const { chance } = kernel;
    const { down, up } = this.#world.net.remembered;
    const from = chance.below("whose frames", 6) === 0 ? up : down;
    const frame = Buffer.from(from[chance.below("which frame", Math.max(1, from.length))] ?? Buffer.alloc(70));
    if (chance.below("touch it", 6) === 0) frame[chance.below("touched at", frame.length)] = chance.below("touched to", 256);
    return frame;
  }
}
