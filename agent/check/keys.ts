/**
 * Checks that keystore, encKey and config.json fit together, as the signer does at its start. Opens
 * the keystore and wipes it. Reaches no network and changes nothing.
 */

import { AgentError } from "../../base/fault.ts";
import { type Finding, faultFound, newFinding } from "../../base/finding.ts";
import { networkOf } from "../../chains/families.ts";
import type { AgentSettings } from "../config/settings.ts";
import type { StateFolder } from "../files/state-folder.ts";
import { openKeystoreIn, readKeystore } from "../keystore/file.ts";
import { readKeystoreHeader, wipeKeystore } from "../keystore/keystore.ts";
import { namedAccounts } from "../keystore/nodes.ts";
import { readRules } from "../signer/policy/rules.ts";

/**
 * Without `encKey` only the readable header of the keystore is checked. The caller wipes `encKey`.
 */
export function checkKeys(
  state: StateFolder,
  settings: AgentSettings,
  encKey: Uint8Array | null,
): readonly Finding[] {
  try {
    const networks =
      encKey === null
        ? readKeystoreHeader(readKeystore(state.signer)).networks
        : networksInside(state, settings, encKey);
    return Object.entries(settings.chains).flatMap(([chain, configured]) =>
      networks.includes(networkOf(configured))
        ? []
        : [
            newFinding(
              "SIGNER_NETWORK",
              "error",
              `chains.${chain} is not among the networks this wallet was paired for`,
            ),
          ],
    );
  } catch (error) {
    if (error instanceof AgentError) return [faultFound(error)];
    throw error;
  }
}

/** The networks of the opened keystore. Reads the rules too, which need the accounts inside. */
function networksInside(
  state: StateFolder,
  settings: AgentSettings,
  encKey: Uint8Array,
): readonly string[] {
  const contents = openKeystoreIn(state.signer, encKey);
  try {
    readRules(settings, namedAccounts(contents.accounts));
  } finally {
    wipeKeystore(contents);
  }
  return contents.networks;
}
