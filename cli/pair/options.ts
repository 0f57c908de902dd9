/** The options of `pair`, for its own process and for the manual. */
import type { CommandTable } from "../../agent/launcher/command-line.ts";
import { configOptionWords, stateOptionWords } from "../default-words.ts";

export function createPairCommandTable(): CommandTable {
  return {
    name: "pair",
    words:
      "Seals the wallet of config.json, registers this server at the gateway, takes the secrets out of config.json.",
    options: [
      { name: "config", value: "file", words: configOptionWords("configuration") },
      { name: "state", value: "folder", words: stateOptionWords() },
      {
        name: "mnemonic-file",
        value: "file",
        words: "read the mnemonic from this file, mode 0600",
      },
      { name: "api-key-file", value: "file", words: "read apiKey from this file, mode 0600" },
      {
        name: "enc-key-file",
        value: "file",
        words: "read encKey from this file, mode 0600; it then leaves config.json too",
      },
      {
        name: "enc-key-fd",
        value: "number",
        words: "read encKey from this open descriptor",
        isDescriptor: true,
      },
      {
        name: "expect-address",
        value: "address",
        words: "the hot wallet's address: another mnemonic is refused before anything is sealed",
      },
      {
        name: "yes",
        words:
          "the mnemonic is written down elsewhere, and its wallet is the right one: do not ask; without a terminal nothing leaves config.json without it",
      },
      { name: "json", words: "print one line of JSON; steps go to stderr" },
    ],
  };
}
