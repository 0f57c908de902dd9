/**
 * Everything in one simulated run besides its actors, in one place that the fakes can reach:
 * time, chance, the trace, and the edges of the code under test. One run at a time; `begin` makes
 * all of it again.
 */
import { Random } from "./random.ts";
import { type OnThrown, Scheduler } from "./scheduler.ts";
import { Trace } from "./trace.ts";

/**
 * A chain node's answer to one call; the promise never rejects with anything but the code's own
 * faults.
 */
export interface RpcEndpoint {
  call(method: string, params: readonly unknown[], isWrite: boolean): Promise<unknown>;
}

/** Something listens for WebSockets, or connects them. */
export interface Dialler {
  dial(socket: object): void;
}

interface Kernel {
  random: Random;
  trace: Trace;
  scheduler: Scheduler;
  /** By URL. */
  readonly nodes: Map<string, RpcEndpoint>;
  /** By the first part of a path. */
  readonly drives: Map<string, object>;
  dialler: Dialler | null;
  /** Called with each digest that a key is about to sign. */
  onSign: (digestHex: string) => void;
}

export const kernel: Kernel = {
  random: new Random(0),
  trace: new Trace(false),
  scheduler: new Scheduler(() => {}),
  nodes: new Map(),
  drives: new Map(),
  dialler: null,
  onSign: () => {},
};

export function begin(
  seed: number,
  options: {
    readonly only: ReadonlySet<string> | null;
    readonly isReadable: boolean;
    readonly onThrown: OnThrown;
  },
): void {
  kernel.random = new Random(seed, options.only);
  kernel.trace = new Trace(options.isReadable);
  kernel.scheduler = new Scheduler(options.onThrown);
  kernel.nodes.clear();
  kernel.drives.clear();
  kernel.dialler = null;
  kernel.onSign = () => {};
}

/** One line of the trace, at the present time, in the current process's name. */
export function note(what: string, mark: string | number = 0, detail?: () => string): void {
  const { scheduler, trace } = kernel;
  trace.note(scheduler.nowMs, scheduler.current.name, what, mark, detail);
}
