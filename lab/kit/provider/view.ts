/** The ground of one backend of an EVM provider: its profile, and the chain behind it. */
import type { FakeAnswer } from "../fake-node.ts";
import type { Backend, Profile } from "./profile.ts";

export type Ask = (method: string, params: readonly unknown[]) => Promise<FakeAnswer>;

export interface EvmView {
  readonly profile: Profile;
  readonly backend: Backend;
  readonly head: number; // the chain's
  readonly ask: Ask;
  /** Hashes that were sent through the provider. */
  readonly isOurs: (txHash: string) => boolean;
}
