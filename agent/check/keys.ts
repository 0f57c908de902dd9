/**
 * Whether keystore, encKey and config.json fit together, as the signer would find when it starts: opens the keystore, looks, wipes.
 * Reaches no network and changes nothing.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { AgentSettings } from "../config/settings.ts";
import type { StateFolder } from "../files/state-folder.ts";
import { openKeystoreIn, readKeystore } from "../keystore/file.ts";
import { readKeystoreHeader, wipeKeystore } from "../keystore/keystore.ts";
import { hotAddress } from "../keystore/nodes.ts";
import { networkOf, readRules } from "../signer/policy/rules.ts";
import { type Finding, faultFound, finding } from "./finding.ts";

/**
 * `encKey` null: nobody gave one here, so only what stands readable is looked at. The caller wipes it.
 * @public
 */
export function checkKeys(state: StateFolder, settings: AgentSettings, encKey: Uint8Array | null): readonly Finding[] {
  try {
    const networks = encKey === null ? readKeystoreHeader(readKeystore(state.signer)).networks : opened(state, settings, encKey);
    return Object.entries(settings.chains).flatMap(([chain, { chainId }]) =>
      networks.includes(networkOf(chainId))
        ? []
        : [finding("SIGNER_NETWORK", "error", `chains.${chain} is not among the networks this wallet was paired for`)],
    );
  } catch (error) {
    if (error instanceof AgentError) return [faultFound(error)];
    throw error;
  }
}

/** Limits and addresses are read as the signer reads them, which needs its own paying address. */
function opened(state: StateFolder, settings: AgentSettings, encKey: Uint8Array): readonly string[] {
  const contents = openKeystoreIn(state.signer, encKey);
  try {
    readRules(settings, hotAddress(contents.evm.account0));
  } finally {
    wipeKeystore(contents);
  }
  return contents.networks;
}
