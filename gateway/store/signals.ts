/**
 * Signals between the modules of one gateway process: a listener should read the database again. A
 * signal carries no data of its own, is sent after its commit, and may be lost without harm,
 * because every listener also reads the database from time to time.
 */

/** The next addresses of an account on one network. */
export interface AddressLook {
  readonly network: string;
  readonly account: string; // the text that addresses are derived from
}

export interface SignalContents {
  /** A job was appended for this agent. */
  readonly job: { readonly agent: string };
  /** The agent's first answer to this withdrawal is stored. */
  readonly decided: { readonly transactionId: string };
  /** This transaction's row changed. `isOpen`: the sender knows that it has not ended. */
  readonly changed: { readonly transactionId: string; readonly isOpen?: true };
  /** An attempt of this withdrawal is void. */
  readonly void: { readonly transactionId: string };
  /** A shop recalled a withdrawal of this agent. */
  readonly recall: { readonly agent: string };
  /** A final transaction of this agent's hot wallet that nothing here signed was found. */
  readonly foreign: { readonly agent: string };
  /** A deposit address left or waits, for which the agent's ledger should hold a ceiling. */
  readonly ceiling: { readonly agent: string };
  /** An order waits for a look at the next addresses of an account (watcher/ahead.ts). */
  readonly look: AddressLook;
  /** An address left; `index` is its place in the account. */
  readonly left: AddressLook & { readonly index: number };
  /** The watcher has looked at the next addresses of an account for which orders waited. */
  readonly looked: AddressLook;
  /** Somebody asks for the balance of a hot wallet, or an order was more than it had. */
  readonly funds: { readonly network: string; readonly account: string };
  /** The agent's link opened or closed. */
  readonly agent: { readonly agent: string; readonly online: boolean };
}

/**
 * `on` returns a function that stops listening, harmless to call twice. Listeners must not throw.
 */
export interface Signals {
  on<Name extends keyof SignalContents>(
    name: Name,
    listener: (signal: SignalContents[Name]) => void,
  ): () => void;
  emit<Name extends keyof SignalContents>(name: Name, signal: SignalContents[Name]): void;
}

type Listeners = {
  readonly [Name in keyof SignalContents]: Set<(signal: SignalContents[Name]) => void>;
};

export function createSignals(): Signals {
  const listeners: Listeners = {
    job: new Set(),
    decided: new Set(),
    changed: new Set(),
    void: new Set(),
    recall: new Set(),
    foreign: new Set(),
    ceiling: new Set(),
    look: new Set(),
    left: new Set(),
    looked: new Set(),
    funds: new Set(),
    agent: new Set(),
  };
  return {
    on(name, listener) {
      const set = listeners[name];
      set.add(listener);
      return () => void set.delete(listener);
    },
    emit(name, signal) {
      for (const listener of [...listeners[name]]) listener(signal);
    },
  };
}
