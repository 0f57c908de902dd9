/**
 * Tests of 4d8fbe51 that have another name now, by file and old name: a name without a number that
 * differs by tier, or one whose claim another test holds.
 */
export const renamedTests: Readonly<Record<string, { readonly file: string; readonly name: string }>> = {
  "chains/tron-node-deposits: ${} deposits come to what the chain holds, none twice (seed %s)": {
    file: "chains/tron-node-deposits",
    name: "many deposits come to what the chain holds, none twice (seed %s)",
  },
  "chains/tron-node-void: a transaction called void is never on the chain, in ${} lives (seed %s)": {
    file: "chains/tron-node-void",
    name: "a transaction called void is never on the chain, in many lives (seed %s)",
  },
  "chains/utxo-evidence: a lying courier > 500 requests, each with a lie, give a code and no bytes; without it each is built: share %i":
    {
      file: "chains/utxo-evidence",
      name: "a lying courier > requests, each with a lie, give a code and no bytes; without it each is built: share %i",
    },
  "chains/utxo-fees: every attempt > 2,000 generated payments and their replacements add up, each by the rule of nodes: share %i":
    {
      file: "chains/utxo-fees",
      name: "every attempt > generated payments and their replacements add up, each by the rule of nodes: share %i",
    },
  "chains/utxo-read-back: a signed transaction of %s > a signed transaction reads as it should, ${} times, payments and cancels":
    {
      file: "chains/utxo-read-back",
      name: "a signed transaction of %s > a signed transaction reads as it should, payments and cancels",
    },
  "chains/utxo-transaction: 1,000, of five address kinds and 1 to 8 coins, are read alike by two other programs: share %i": {
    file: "chains/utxo-transaction",
    name: "100, of five address kinds and 1 to 8 coins, are read alike by two other programs: share %i",
  },
  "chains/xrp-address: addresses of XRP, judged by others > 500 keys have the address that ripple-keypairs gives, and 500 X-addresses are made and split alike":
    {
      file: "chains/xrp-address",
      name: "addresses of XRP, judged by others > keys have the address that ripple-keypairs gives, and X-addresses are made and split alike",
    },
  "chains/xrp-node-deposits: payments to an account are credited to the drop, a thousand of them, over pages of different sizes":
    {
      file: "chains/xrp-node-deposits",
      name: "payments to an account are credited to the drop, many of them, over pages of different sizes",
    },
  "chains/xrp-transaction: transactions of XRP, judged by others > ${} payments are read alike, encoded alike, signed by the account's key and named by the same id":
    {
      file: "chains/xrp-transaction",
      name: "transactions of XRP, judged by others > payments are read alike, encoded alike, signed by the account's key and named by the same id",
    },
  "chains/xrp-transaction: transactions of XRP, judged by others > ${} cancels are an AccountSet that sets nothing": {
    file: "chains/xrp-transaction",
    name: "transactions of XRP, judged by others > cancels are an AccountSet that sets nothing",
  },
  "gateway/gateway-http: HTTP > the gateway over HTTP gives up on a request that does not arrive in time, within a second of its time":
    {
      file: "gateway/gateway-http",
      name: "HTTP > the gateway over HTTP gives up on a request that does not arrive in time, sooner than a server that looks every half a minute",
    },
  "gateway/gateway-lists: a list of transactions > is what reading every row gives, for 400 filters, seed %i": {
    file: "gateway/gateway-lists",
    name: "a list of transactions > is what reading every row gives, for every filter, seed %i",
  },
  "gateway/gateway-reserved: the reserved sums > are what 300 withdrawals make after each of 900 acts, seed %i": {
    file: "gateway/gateway-reserved",
    name: "the reserved sums > are what hundreds of withdrawals make after each act, seed %i",
  },
  "protocol/foreign-text: a megabyte of %s takes time in proportion": {
    file: "protocol/foreign-text",
    name: "a long text of %s takes time in proportion",
  },
  "launcher/launcher: crypto > ends cleanly within five seconds on SIGTERM and SIGINT": {
    file: "launcher/launcher",
    name: "crypto > ends with 0 on SIGTERM and SIGINT, and leaves no child",
  },
  "install/systemd: systemd units > are the signer's, the courier's, the gateway's, the two sockets and one name for the agent's":
    {
      file: "install/systemd",
      name: "systemd units > are the signer's, the courier's, the gateway's with its alerts, the two sockets and one name for the agent's",
    },
  "system/tidy: the house > gives each test of the gateway a title that names its subject, so that it stands alone": {
    file: "system/tidy",
    name: "the house > has no title that repeats its heading, and none without a heading that leans on one",
  },
  "pairing/pairing: a second run > says so and changes nothing": {
    file: "pairing/pairing-again",
    name: "a second run > says so and changes nothing",
  },
  "pairing/pairing: a second run > takes secrets out again that somebody wrote back": {
    file: "pairing/pairing-again",
    name: "a second run > takes secrets out again that somebody wrote back",
  },
  "pairing/pairing: a second run > refuses another wallet and touches nothing of it": {
    file: "pairing/pairing-again",
    name: "a second run > refuses another wallet and touches nothing of it",
  },
  "pairing/pairing: a second run > goes on without the mnemonic once the wallet is sealed: its keys still prove themselves": {
    file: "pairing/pairing-again",
    name: "a second run > goes on without the mnemonic once the wallet is sealed: its keys still prove themselves",
  },
  "pairing/pairing: a second run > refuses another encKey than the keystore's": {
    file: "pairing/pairing-again",
    name: "a second run > refuses another encKey than the keystore's",
  },
  "pairing/pairing: a damaged state folder > without %s: crypto and pair name it, say what to do, and change nothing but the exit reason":
    {
      file: "pairing/pairing-again",
      name: "a damaged state folder > without %s: crypto and pair name it, say what to do, and change nothing but the exit reason",
    },
  "pairing/pairing: a damaged state folder > does not seal a second keystore for a pairing that was begun": {
    file: "pairing/pairing-again",
    name: "a damaged state folder > does not seal a second keystore for a pairing that was begun",
  },
  "pairing/pairing: a pairing that was cut > keeps the sealed keystore while the gateway is away, and goes on with the same keys":
    {
      file: "pairing/pairing-again",
      name: "a pairing that was cut > keeps the sealed keystore while the gateway is away, and goes on with the same keys",
    },
  "pairing/pairing: a pairing that was cut > registers the same keys again when it was killed while the gateway answered": {
    file: "pairing/pairing-again",
    name: "a pairing that was cut > registers the same keys again when it was killed while the gateway answered",
  },
  "pairing/pairing: a pairing that was cut > does not ask the gateway again once it granted": {
    file: "pairing/pairing-again",
    name: "a pairing that was cut > does not ask the gateway again once it granted",
  },
  "pairing/pairing: a pairing that was cut > is paired, and says what is left, when config.json cannot be rewritten": {
    file: "pairing/pairing-again",
    name: "a pairing that was cut > is paired, and says what is left, when config.json cannot be rewritten",
  },
  "pairing/pairing: a pairing that was cut > never begins a second ledger where its progress was lost": {
    file: "pairing/pairing-again",
    name: "a pairing that was cut > never begins a second ledger where its progress was lost",
  },
  "install/runtime-coins: XRP is paid to the drop, once an operator said yes to its first sequence": {
    file: "install/runtime-coins",
    name: "XRP is paid to the drop, from the sequence at which its account was made",
  },
  "signer/sweeps: the first slot of a deposit address > is the first slot alone on the courier's word, whatever number of nodes it names":
    {
      file: "signer/sweeps",
      name: "the first slot of a deposit address > is what the gateway's job names, whatever number of nodes the courier names; without, what its nodes show now",
    },
  "signer/tags-attacked: a tag under attack > a sequence of 0, of a ticket or above the last is no place to begin, and none begins on the courier's word but the first":
    {
      file: "signer/tags-attacked",
      name: "a tag under attack > a sequence of 0, of a ticket or above the last is no place to begin, and none begins on the courier's word",
    },
  "signer/withdrawal: slots > begin at nothing on the courier's word alone": {
    file: "signer/withdrawal",
    name: "slots > begin at nothing on two words, the courier's and the gateway's, and on neither alone",
  },
  "system/xrp-process: an agent with a chain of XRP > waits for its first XRP, then for an operator's yes to the sequence at which the account begins":
    {
      file: "system/xrp-process",
      name: "an agent with a chain of XRP > waits for its first XRP, then begins at the sequence that the nodes of both sides show, without an operator",
    },
};
