/**
 * Every code of a refusal or fault, in one frozen table: [kind, effect, who sees it, meaning, what the operator does].
 * The same table stands in docs/errors.md, and a test compares both ways. Codes never change meaning and are never reused.
 */

type Row = readonly ["refusal" | "fault" | "alarm", "none" | "done" | "unknown", "merchant" | "operator" | "log", string, string];

/** @public */
export const codes = {
  // json, amounts, envelopes, pairing (protocol)
  JSON_TOO_LARGE: [
    "fault",
    "none",
    "log",
    "a JSON text is longer than this reader takes",
    "nothing; the sender must split or shorten it",
  ],
  JSON_UTF8: ["fault", "none", "log", "a JSON text is not well-formed UTF-8", "nothing; the sender is broken"],
  JSON_SYNTAX: [
    "fault",
    "none",
    "operator",
    "a text is not JSON",
    "look at the place the message names; in a file, a missing comma or quote",
  ],
  JSON_NUMBER: [
    "fault",
    "none",
    "operator",
    "a JSON number is not a whole number below 2^53",
    "write amounts as strings, counts as whole numbers",
  ],
  JSON_STRING: ["fault", "none", "operator", "a JSON string is longer than 4 KiB", "shorten the value"],
  JSON_SURROGATE: ["fault", "none", "log", "a JSON string holds half of a surrogate pair", "nothing; the sender is broken"],
  JSON_DEPTH: ["fault", "none", "log", "JSON is nested deeper than 16", "nothing; the sender is broken"],
  JSON_ITEMS: ["fault", "none", "operator", "a JSON list or object has too many members", "shorten the list"],
  JSON_DUPLICATE_KEY: ["fault", "none", "operator", "a JSON object has the same key twice", "remove one of the two"],
  JSON_FORBIDDEN_KEY: [
    "fault",
    "none",
    "log",
    "a JSON object has a key such as __proto__",
    "nothing; the sender is broken or hostile",
  ],
  JSON_SHAPE: [
    "fault",
    "none",
    "operator",
    "JSON lacks a field, has an unknown one, or a value of another type or range",
    "correct the field the message names",
  ],
  AMOUNT_FORMAT: [
    "refusal",
    "none",
    "merchant",
    "an amount is not plain digits with an optional point, or is too large",
    "none; the caller sends it again as text such as 12.5",
  ],
  AMOUNT_PRECISION: [
    "refusal",
    "none",
    "merchant",
    "an amount has more fraction digits than its currency",
    "none; nothing is rounded, the caller sends fewer digits",
  ],
  AMOUNT_ZERO: ["refusal", "none", "merchant", "an amount is zero", "none"],
  ENVELOPE_SIZE: [
    "fault",
    "none",
    "log",
    "an envelope is shorter than its header or longer than the receiver takes",
    "update the older side if it repeats",
  ],
  ENVELOPE_VERSION: ["fault", "none", "operator", "an envelope has a version this side does not speak", "update the older side"],
  ENVELOPE_KIND: [
    "fault",
    "none",
    "log",
    "an envelope is of another kind than this place takes",
    "update the older side if it repeats",
  ],
  ENVELOPE_SIGNATURE: [
    "fault",
    "none",
    "operator",
    "an envelope's signature does not fit its bytes, kind and the pinned key",
    "nothing was done; if it repeats, someone stands between agent and gateway",
  ],
  ENVELOPE_KEY: [
    "fault",
    "none",
    "operator",
    "a public key is not a usable Ed25519 key",
    "nothing was done; treat the side that sent it as hostile",
  ],
  PAIRING_API_KEY: [
    "fault",
    "none",
    "operator",
    "apiKey is not keyId.secret.fingerprint",
    "copy the key again, whole, from merchant create or key create",
  ],
  PAIRING_TRANSCRIPT: [
    "fault",
    "none",
    "operator",
    "a pairing transcript contradicts itself",
    "pair again; if it repeats, update the older side",
  ],
  PAIRING_GATEWAY_KEY: [
    "fault",
    "unknown",
    "operator",
    "the answer to pairing came from another key than the one apiKey names",
    "do not go on: check gatewayUrl and who stands between",
  ],
  PAIRING_GRANT: [
    "fault",
    "unknown",
    "operator",
    "the gateway's grant is altered or answers another transcript",
    "pair again; the same keys may register twice",
  ],
  // addresses and transactions (chains)
  ADDRESS_FORMAT: ["refusal", "none", "merchant", "the address does not have the chain's form", "give the full address"],
  ADDRESS_CHECKSUM: [
    "refusal",
    "none",
    "merchant",
    "the address is mistyped: its checksum does not fit",
    "copy the address again",
  ],
  ADDRESS_ZERO: ["refusal", "none", "merchant", "the zero address would burn the money", "give the receiver's address"],
  ADDRESS_PUBLIC_KEY: [
    "fault",
    "none",
    "operator",
    "the bytes are not a public key of the curve",
    "check where the key came from",
  ],
  ADDRESS_XPUB: ["fault", "none", "operator", "not the extended public key of an account", "pair again; the key came damaged"],
  ADDRESS_INDEX: ["fault", "none", "operator", "there is no address at this index", "go on with the next index"],
  TRANSACTION_TYPE: ["refusal", "none", "operator", "the bytes are not an EIP-1559 transaction", "none: it is never signed"],
  TRANSACTION_RLP: [
    "refusal",
    "none",
    "operator",
    "the bytes are not one canonical RLP list of the right length",
    "none: it is never signed",
  ],
  TRANSACTION_FIELD: [
    "refusal",
    "none",
    "operator",
    "a field of the transaction is out of range",
    "check the fees the node named",
  ],
  TRANSACTION_CALL: ["refusal", "none", "operator", "the call is not a plain token transfer", "none: it is never signed"],
  TRANSACTION_ACCESS_LIST: ["refusal", "none", "operator", "the transaction carries an access list", "none: it is never signed"],
  TRANSACTION_SIGNATURE: ["fault", "none", "operator", "the signature is not in canonical form", "look for a faulty machine"],
  TRANSACTION_SENDER: [
    "fault",
    "none",
    "operator",
    "the signature was not made by the account's key",
    "look for a faulty machine or keystore",
  ],
  // nodes (chains)
  // policy
  // admission, ledger, keystore, vault, sockets (signer)
  // link, desk (courier)
  // config, pairing, commands (cli)
  // gateway
  GATEWAY_STORE_MISSING: [
    "fault",
    "none",
    "operator",
    "there is no database file where the configuration says",
    "run init, or restore the file; never start with an empty one",
  ],
  GATEWAY_STORE_EXISTS: [
    "fault",
    "none",
    "operator",
    "the database file is there already or cannot be made",
    "choose another folder, or keep the gateway that is there",
  ],
  GATEWAY_STORE_VERSION: [
    "fault",
    "none",
    "operator",
    "the database was made by another version of the gateway",
    "run the version that made it",
  ],
  GATEWAY_STORE_UNSAFE: [
    "fault",
    "none",
    "operator",
    "the database did not take WAL with synchronous FULL",
    "put it on a local file system",
  ],
  GATEWAY_STORE_BUSY: [
    "fault",
    "none",
    "log",
    "another process holds the database",
    "wait; look for a backup or a second gateway",
  ],
  GATEWAY_STORE_POISONED: ["fault", "unknown", "operator", "the disk failed while committing", "check the disk, then restart"],
  GATEWAY_KEY_MISSING: [
    "fault",
    "none",
    "operator",
    "the gateway's key file is missing or not readable",
    "restore it; agents know the gateway by it",
  ],
  GATEWAY_KEY_INVALID: ["fault", "none", "operator", "the gateway's key file holds no Ed25519 key", "restore it from a backup"],
  GATEWAY_KEY_OPEN: ["fault", "none", "operator", "group or world can read the gateway's key file", "chmod 600"],
  GATEWAY_KEY_EXISTS: ["fault", "none", "operator", "there is a gateway key already", "choose another folder"],
  GATEWAY_SECRET_SEALED: [
    "fault",
    "none",
    "operator",
    "an API secret does not open under this gateway's key",
    "the key file and the database belong to two gateways",
  ],
} as const satisfies Record<string, Row>;

/** @public */
export type Code = keyof typeof codes;
