/**
 * Tests of 4d8fbe51 that have another name now, by file and old name: a name without a number that
 * differs by tier, or one whose claim another test holds.
 */
export const renamedTests: Readonly<
  Record<string, { readonly file: string; readonly name: string }>
> = {
  "chains/utxo-address: networks by their names > each is a family of its own, with purpose 84 and the coin type of SLIP-44":
    {
      file: "chains/utxo-address",
      name: "networks by their names > each is an address space of its own, with purpose 84 and the coin type of SLIP-44",
    },
  "hub/sign-job: a signature of a job that does not fit is never returned": {
    file: "hub/sign-job",
    name: "keys that do not belong together sign no job",
  },
  "watcher/watcher-nodes: balances and state > of a chain follow the final block for every live agent, one that pairs later too":
    {
      file: "watcher/watcher-nodes",
      name: "balances and state > of a chain are read of every live agent, of one that pairs later too, and in turn of one that no transaction moved",
    },
  "chains/rollups: a sender on an OP Stack chain > gives no chain state if the oracle does not answer, so that nothing is signed by a guess":
    {
      file: "chains/rollups",
      name: "a sender on an OP Stack chain > gives no market if the oracle does not answer, so that nothing is signed by a guess, and all else",
    },
  "chains/tron-node-sender: a provider of two that names other prices leaves no chain state; one of three changes nothing":
    {
      file: "chains/tron-node-sender",
      name: "a provider of two that names other prices leaves no market and all else; one of three changes nothing",
    },
  "chains/utxo-answers: a server > that lists no coins of a popular address (%s) is asked for its transactions, and its words say where even that ends":
    {
      file: "chains/utxo-answers",
      name: "a server > that lists no coins of a popular address (%s) is asked for its transactions, and what even these lack is not available",
    },
  "chains/utxo-history: the history of an address > is not read above the bound of coins, and the words say what to do":
    {
      file: "chains/utxo-history",
      name: "the history of an address > above the bound of coins has those that are worth something, and its totals; up to it all of them",
    },
  "chains/tron-node-deposits: ${} deposits come to what the chain holds, none twice (seed %s)": {
    file: "chains/tron-node-deposits",
    name: "many deposits come to what the chain holds, none twice (seed %s)",
  },
  "chains/tron-node-void: a transaction called void is never on the chain, in ${} lives (seed %s)":
    {
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
  "chains/utxo-transaction: 1,000, of five address kinds and 1 to 8 coins, are read alike by two other programs: share %i":
    {
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
  "chains/xrp-transaction: transactions of XRP, judged by others > ${} cancels are an AccountSet that sets nothing":
    {
      file: "chains/xrp-transaction",
      name: "transactions of XRP, judged by others > cancels are an AccountSet that sets nothing",
    },
  "gateway/gateway-http: HTTP > the gateway over HTTP gives up on a request that does not arrive in time, within a second of its time":
    {
      file: "gateway/gateway-http",
      name: "HTTP > the gateway over HTTP gives up on a request that does not arrive in time, sooner than a server that looks every half a minute",
    },
  "gateway/gateway-lists: a list of transactions > is what reading every row gives, for 400 filters, seed %i":
    {
      file: "gateway/gateway-lists",
      name: "a list of transactions > is what reading every row gives, for every filter, seed %i",
    },
  "gateway/gateway-reserved: the reserved sums > are what 300 withdrawals make after each of 900 acts, seed %i":
    {
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
  "system/bench: a ratio to the plain build is left out where no round measured it": {
    file: "system/bench",
    name: "figures of parts that the run did not measure are left out: ratios to the plain build, idle gateways",
  },
  "system/bench: a few orders go the whole path, on EVM and on Tron": {
    file: "system/bench",
    name: "a few orders go the whole path on each network, and deposits with their pages",
  },
  "system/tidy: the house > keeps files to a chapter": {
    file: "system/sizes",
    name: "a file of 400 statements is a chapter, one of 401 is not",
  },
  "system/tidy: the house > takes time and chance from outside, except where a process begins": {
    file: "system/walls",
    name: "the walls > refuse every planted breach by name",
  },
  "system/tidy: the house > reads the environment only where a process begins and where files are looked for":
    {
      file: "system/walls",
      name: "the walls > refuse every planted breach by name",
    },
  "system/tidy: the house > prints only where an operator is": {
    file: "system/walls",
    name: "the walls > refuse every planted breach by name",
  },
  "system/tidy: the house > gives each test of the gateway a title that names its subject, so that it stands alone":
    {
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
  "pairing/pairing: a second run > goes on without the mnemonic once the wallet is sealed: its keys still prove themselves":
    {
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
  "pairing/pairing: a damaged state folder > does not seal a second keystore for a pairing that was begun":
    {
      file: "pairing/pairing-again",
      name: "a damaged state folder > does not seal a second keystore for a pairing that was begun",
    },
  "pairing/pairing: a pairing that was cut > keeps the sealed keystore while the gateway is away, and goes on with the same keys":
    {
      file: "pairing/pairing-again",
      name: "a pairing that was cut > keeps the sealed keystore while the gateway is away, and goes on with the same keys",
    },
  "pairing/pairing: a pairing that was cut > registers the same keys again when it was killed while the gateway answered":
    {
      file: "pairing/pairing-again",
      name: "a pairing that was cut > registers the same keys again when it was killed while the gateway answered",
    },
  "pairing/pairing: a pairing that was cut > does not ask the gateway again once it granted": {
    file: "pairing/pairing-again",
    name: "a pairing that was cut > does not ask the gateway again once it granted",
  },
  "pairing/pairing: a pairing that was cut > is paired, and says what is left, when config.json cannot be rewritten":
    {
      file: "pairing/pairing-again",
      name: "a pairing that was cut > is paired, and says what is left, when config.json cannot be rewritten",
    },
  "pairing/pairing: a pairing that was cut > never begins a second ledger where its progress was lost":
    {
      file: "pairing/pairing-again",
      name: "a pairing that was cut > never begins a second ledger where its progress was lost",
    },
  "install/runtime-coins: XRP is paid to the drop, once an operator said yes to its first sequence":
    {
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
  "chains/evm-broadcast: the recorded answers are of eight clients at least": {
    file: "chains/refusals",
    name: "words of %s nodes about signed bytes > %s: %s",
  },
  "chains/evm-broadcast: broadcasting by %s: %s": {
    file: "chains/refusals",
    name: "words of %s nodes about signed bytes > %s: %s",
  },
  "chains/evm-broadcast: a broadcast reports the most useful of several answers, and unsent only when all say so":
    {
      file: "chains/refusals",
      name: "the answers of several nodes to signed bytes > count for what one of them took, then for the doubt that one leaves, then as a refusal",
    },
  "chains/evm-broadcast: no price cures the refusal by %s: %s": {
    file: "chains/refusals",
    name: "words of %s nodes about signed bytes > %s: %s",
  },
  "chains/evm-broadcast: a price may cure: %s": {
    file: "chains/refusals",
    name: "the answers of several nodes to signed bytes > are curable by a higher fee unless each refuses for another reason",
  },
  "chains/evm-broadcast: a refusal of several nodes is one only where each of them refused, and curable where one is":
    {
      file: "chains/refusals",
      name: "the answers of several nodes to signed bytes > are curable by a higher fee unless each refuses for another reason",
    },
  "chains/evm-broadcast: a revert is told from want of funds and from trouble in the node": {
    file: "chains/refusals",
    name: "a revert is told from want of funds and from trouble in the node",
  },
  "chains/evm-node-logs: a foreign log with odd fields fails nothing, ours with an odd field does":
    {
      file: "chains/evm-node-logs",
      name: "a foreign log with odd fields is nothing, ours with an odd field is named and costs no other",
    },
  "chains/tron-node-sender: an answer about signed bytes with a reference that the chain does not have is unknown: another node may have it":
    {
      file: "chains/tron-node-sender",
      name: "signed bytes with a reference that the chain does not have are refused, and refused again where the node calls them known",
    },
  "chains/tron-node-sender: %s is unknown, and the bytes are sent once": {
    file: "chains/refusals",
    name: "the answers of several nodes to signed bytes > %s counts as %s",
  },
  "chains/tron-node-sender: codes that say the node would not look are no fate of the payment": {
    file: "chains/refusals",
    name: "a node's flags > of Tron call known what the node refused before, which is that refusal again, and what it took is taken",
  },
  "chains/utxo-answers: words of a node that refuses signed bytes > %j: %s": {
    file: "chains/refusals",
    name: "words of %s nodes about signed bytes > %s: %s",
  },
  "chains/utxo-answers: words of a node that refuses signed bytes > only the transaction's own id says that a node took it":
    {
      file: "chains/refusals",
      name: "words of %s nodes about signed bytes > are no acceptance where they are made up, and the transaction's own id is one",
    },
  "chains/utxo-answers: a server > of the Esplora API that gives estimates for many blocks only, or none, leaves a market all the same":
    {
      file: "chains/utxo-answers",
      name: "a server > that estimates for many blocks only, or nothing, has the network's rate for silence, and a main network none",
    },
  "chains/utxo-answers: a server > of the Esplora API that took a write and gave no answer leaves the outcome unknown; one that cannot be reached has not got it":
    {
      file: "chains/utxo-answers",
      name: "a server > of the Esplora API that took a write and gave no answer leaves its bytes in doubt; one that cannot be reached has not got it",
    },
  "chains/xrp-node-broadcast: %s is %s if kept, %s if dropped, %s if unsaid": {
    file: "chains/refusals",
    name: "a node's flags > of the XRP Ledger say more than its code, and a node that does not say is in doubt where it may hold the bytes",
  },
  "chains/xrp-node-broadcast: the answer to signed bytes is unknown for the id of other bytes, and accepted for the same id":
    {
      file: "chains/refusals",
      name: "a node's flags > of the XRP Ledger say more than its code, and a node that does not say is in doubt where it may hold the bytes",
    },
  "chains/xrp-node-broadcast: the answer to signed bytes is a refusal for bytes that the API cannot read, and none for a node that is not ready":
    { file: "chains/refusals", name: "words of %s nodes about signed bytes > %s: %s" },
  "chains/xrp-node-broadcast: the answer to signed bytes stays open while one of several nodes keeps the bytes that another one drops":
    {
      file: "chains/refusals",
      name: "the answers of several nodes to signed bytes > count for what one of them took, then for the doubt that one leaves, then as a refusal",
    },
  "chains/xrp-node-broadcast: the answer to signed bytes rejects an answer without an engine result":
    {
      file: "chains/refusals",
      name: "a node's flags > of the XRP Ledger say more than its code, and a node that does not say is in doubt where it may hold the bytes",
    },
  "courier/watch: the watch of a chain > a watch of an idle account asks at most once a second, and at least every 12 seconds":
    {
      file: "courier/watch",
      name: "the watch of a chain > a watch of an idle account asks at most once a second, and every 12 seconds or twenty times a block",
    },
  "watcher/watcher-withdrawals: many withdrawals > have their turn one of each agent at a time, each once, and then those first who waited longest":
    {
      file: "gateway/turns",
      name: "turns > take one of each merchant at a time, and those first that were asked about longest ago",
    },
  "watcher/watcher-withdrawals: many withdrawals > never wait because one of them asks more than a pass may":
    {
      file: "gateway/turns",
      name: "turns > take one thing that costs more than a pass may, and then the others",
    },
  "watcher/watcher-withdrawals: a withdrawal on chain > is not completed by a transaction of another withdrawal that took its place, however alike":
    {
      file: "watcher/watcher-withdrawals",
      name: "a withdrawal on chain > is not completed by a transaction of another withdrawal that took its place, %s",
    },
  "courier/scheduler-watching: watching > the scheduler tells a revert, and keeps a token transfer that moved otherwise for an operator":
    {
      file: "courier/scheduler-watching",
      name: "watching > the scheduler tells a revert, and that a token transfer moved otherwise, once with an alarm",
    },
  "gateway/client-package: the client's package > installs into an empty folder and works there, with every file of client/ behind an entry of its own":
    {
      file: "gateway/client-package",
      name: "the client's package > installs into an empty folder and works there, with every file of clients/typescript/ behind an entry of its own",
    },
  "signer/pins-attacked: a pin under attack > a pin that two withdrawals spent, since one end was a lie, pays one of the two: the first gets no other attempt":
    {
      file: "signer/pins-attacked",
      name: "a pin under attack > a pin of an end that was a lie of both sides pays no second withdrawal, and the first gets no other attempt",
    },
  "callbacks/webhooks: docs/api.md lists the webhooks of /openapi.json in the same order and words":
    { file: "system/docs", name: "the tables of docs/ > are what npm run docs writes" },
  "chains/presets: docs/chains.md > has a row for each currency that says its chain, ticker, decimals, contract and source":
    { file: "system/docs", name: "the tables of docs/ > are what npm run docs writes" },
  "gateway/gateway-http: docs/api.md > holds the tables of codes and of reasons (write them again with -u)":
    { file: "system/docs", name: "the tables of docs/ > are what npm run docs writes" },
  "protocol/codes: codes > stand in docs/errors.md, in the same order and words": {
    file: "system/docs",
    name: "the tables of docs/ > are what npm run docs writes",
  },
  "protocol/events: events > stand in docs/events.md, in the same order and words": {
    file: "system/docs",
    name: "the tables of docs/ > are what npm run docs writes",
  },
};
