/**
 * Every event that a log line may name, in one frozen table for each side. The `event` of a line is
 * one of these names, and its level is the table's. docs/events.md has the same rows. Events for
 * `notify` and `alerts` stand in alerts/notices/table.ts. Pure.
 */

/** @public */
export type Level = "debug" | "info" | "warn" | "error";

/** Meaning and advice are for the operator. */
type Row = readonly [processes: string, level: Level, meaning: string, advice: string];

const table = <const T extends Readonly<Record<string, Row>>>(rows: T): Readonly<T> => Object.freeze(rows);

const nothing = "nothing";

/**
 * The events of signer, courier and the launcher `crypto`.
 * @public
 */
export const agentEvents = table({
  // signer
  "signer-ready": ["signer", "info", "keystore and ledger are open, both sockets listen", nothing],
  "signer-fault": [
    "signer",
    "error",
    "a fault ends the signer; `code` and `message` say which",
    "look `code` up in docs/errors.md",
  ],
  "hardening-incomplete": ["signer", "warn", "a guard around the process could not be set up", "run it under the unit files"],
  "ledger-torn": [
    "signer",
    "warn",
    "a write that a crash cut short was cut off and kept aside",
    "nothing; look at the disk if it comes often",
  ],
  "ledger-alarm": ["signer", "warn", "the ledger has an alarm, see `code`", "look `code` up in docs/errors.md"],
  "signer-locked": ["signer", "error", "the signer locked itself: nothing is signed any more", "docs/recovering.md, by `code`"],
  "policy-changed": ["signer", "info", "limits other than those of the run before are in force", nothing],
  "disk-low": [
    "signer",
    "error",
    "too little room at `path`: nothing new is begun below `freeBytesMin`",
    "make room; it goes on by itself",
  ],
  "disk-read-only": [
    "signer",
    "error",
    "the disk at `path` takes no writes: nothing is taken, decided or signed",
    "see why in dmesg, check the file system and mount it writable again",
  ],
  "disk-writable": ["signer", "info", "the disk takes writes again; the signer ends and is started again", nothing],
  "disk-room": ["signer", "info", "there is room again", nothing],
  bug: ["signer, courier", "error", "a bug; the process ends and is started again", "report it with the version and the line"],
  // courier
  "courier-fault": [
    "courier",
    "error",
    "a fault ends the courier; `code` and `message` say which",
    "look `code` up in docs/errors.md",
  ],
  "gateway-differs": ["courier", "warn", "gatewayUrl is not the one of the pairing", "correct config.json, or pair again"],
  "signer-away": [
    "courier",
    "warn",
    "the signer does not answer; it is tried again and again",
    "see why: journalctl -u crypto-signer",
  ],
  "signer-answers": ["courier", "info", "the signer answers; a run begins", nothing],
  "agent-paused": ["courier", "info", "a person paused the signer or resumed it, see `paused`", "resume, when signing may go on"],
  "agent-locked": ["courier", "error", "the signer says that it is locked", "docs/recovering.md, by `code`"],
  "agent-recovered": ["courier", "info", "the ledger was recovered; all begins anew with its new epoch", nothing],
  "account-code": [
    "courier",
    "error",
    "the paying account has code (EIP-7702): it may pay by itself",
    "find out who delegated it; move the funds",
  ],
  "withdrawal-alarm": [
    "courier",
    "error",
    "a withdrawal stopped, see `code`",
    "look `code` up in docs/errors.md, and the withdrawal with show",
  ],
  "chain-answers": ["courier", "info", "the nodes of a chain answer", nothing],
  "chain-away": [
    "courier",
    "warn",
    "too few nodes of a chain can be used",
    "see `nodes`; nothing of that chain is signed meanwhile",
  ],
  "node-failed": ["courier", "warn", "a node failed once", "nothing while others answer"],
  "node-recovered": ["courier", "info", "a node that had failed answers again", nothing],
  "node-wrong-chain": ["courier", "error", "a node is of another chain than config.json says", "correct nodes or chainId"],
  "node-outlier": [
    "courier",
    "warn",
    "a node's figure stands apart from the other nodes'; it is not used",
    "compare with a block explorer; replace the node that is wrong",
  ],
  "link-up": ["courier", "info", "the link to the gateway is up and the signer took the welcome", nothing],
  "link-down": ["courier", "warn", "the link to the gateway is down, see `code` and `detail`", "nothing, unless it stays down"],
  "link-retry": ["courier", "debug", "another try at the link failed for the same reason", nothing],
  "recovery-refused": [
    "courier",
    "warn",
    "the signer did not take the gateway's recovery order",
    "look `code` up in docs/errors.md",
  ],
  "frame-refused": ["courier", "warn", "the signer did not take a frame of the gateway", "look `code` up in docs/errors.md"],
  "withdrawal-approved": ["courier", "debug", "a withdrawal was admitted and approved", nothing],
  "withdrawal-admitted": ["courier", "info", "a withdrawal was admitted, held or refused", "for held: approve or refuse it"],
  "withdrawal-signed": ["courier", "info", "a withdrawal was signed", nothing],
  "withdrawal-replaced": [
    "courier",
    "info",
    "a withdrawal was signed again: with a higher fee, or since all versions before are dead",
    nothing,
  ],
  "withdrawal-final": ["courier", "info", "a withdrawal has ended", nothing],
  "signer-refused": ["courier", "debug", "the signer said no to a request; the desk asks again or waits", nothing],
  "slot-adopted": ["courier", "info", "the account's first slot was taken from the chain", nothing],
  "counter-refused": [
    "courier",
    "warn",
    "the signer did not take the account's count of transactions",
    "look `code` up in docs/errors.md",
  ],
  "bytes-handed": ["courier", "debug", "signed bytes were handed to the nodes", nothing],
  "slot-used": ["courier", "debug", "the nodes know the slot as used, as they say of a payment that is in a block", nothing],
  "bytes-declined": [
    "courier",
    "warn",
    "no node took the signed bytes; they are sent again",
    "see `detail`; nothing, unless it goes on",
  ],
  counters: ["courier", "info", "what was counted since the start, every five minutes", nothing],
  "notice-told": ["courier", "info", "somebody was told of an event by `notify`", nothing],
  "notice-failed": [
    "courier",
    "warn",
    "the command or address of `notify` failed; it is tried again",
    "run the command by hand, see docs/events.md",
  ],
  "notice-dropped": [
    "courier",
    "error",
    "an event was given up: too many failures, or too many waiting",
    "mend `notify`, then look at status",
  ],
  "metrics-listen": ["courier", "info", "metrics are served", nothing],
  "metrics-failed": [
    "courier",
    "warn",
    "metrics cannot be served there; it is tried again",
    "free the port, or name another in config.json",
  ],
  // launcher
  "process-restarted": [
    "crypto",
    "warn",
    "signer or courier ended and is started again",
    "nothing, unless it goes on; then read the lines before",
  ],
  "process-ended": ["crypto", "error", "signer or courier ended for good", "the line after names the reason and what to type"],
  "command-fault": ["crypto", "error", "crypto could not start or had to end, see `code` and `hint`", "do what `hint` says"],
  "process-silent": [
    "crypto",
    "warn",
    "signer or courier gave no sign of life and is killed",
    "nothing; report it if it repeats",
  ],
  "config-unchanged": ["crypto", "info", "config.json was read again and has not changed", nothing],
  "config-taken": ["crypto", "info", "a changed config.json is in order: signer and courier start again with it", nothing],
  "config-refused": ["crypto", "warn", "a changed config.json was not taken", "do what the message says"],
  "folder-foreign": ["crypto", "warn", "root runs crypto on another user's state folder", "run it as that user, or by the units"],
  "service-manager-away": ["crypto", "warn", "systemd cannot be told that this runs", "look whether systemd-notify is there"],
  "environment-ignored": ["crypto", "warn", "a variable that can bring foreign code is set", "unset it"],
  "trouble-began": ["crypto", "warn", "link, nodes, lock or held withdrawals: see the message", "see status"],
  "trouble-over": ["crypto", "info", "what was told before is over", nothing],
  stopped: ["crypto", "info", "crypto ended as it was told", nothing],
});

/**
 * The events of the gateway.
 * @public
 */
export const gatewayEvents = table({
  bug: ["gateway", "error", "a bug; the process ends and is started again", "report it with the version and the line"],
  "command-fault": ["gateway", "error", "the gateway could not start, see `hint`", "do what `hint` says"],
  "config-reload": ["gateway", "info", "the configuration was read again; the message says what was taken", nothing],
  "config-refused": ["gateway", "warn", "a changed configuration was not taken", "correct what the message names"],
  "service-manager-away": ["gateway", "warn", "systemd cannot be told that this runs", "look whether systemd-notify is there"],
  "stop-failed": ["gateway", "error", "the gateway could not stop cleanly", "report it; nothing is lost"],
  "proxy-missing": [
    "gateway",
    "warn",
    "publicUrl is https, and neither listen.tls nor trustProxy is set",
    "name the proxy in trustProxy",
  ],
  "proxy-unnamed": [
    "gateway",
    "warn",
    "X-Forwarded-For came from an address that trustProxy does not name",
    "name the proxy in trustProxy",
  ],
  "proxy-entry-unreadable": [
    "gateway",
    "warn",
    "a proxy that trustProxy names writes an X-Forwarded-For entry that is no address, see `entry`",
    "have the proxy write the client's address",
  ],
  request: ["gateway", "info", "a request was answered", nothing],
  "request-failed": ["gateway", "error", "a request failed inside", "report it with the line"],
  "token-refused": ["gateway", "info", "a signatureToken was refused, see `reason`", "nothing, unless the shop complains"],
  "agent-paired": ["gateway", "info", "an agent paired", "compare the short code with the one that pair printed"],
  "withdrawal-made": ["gateway", "info", "a withdrawal was taken from a shop", nothing],
  "version-dead": ["gateway", "info", "no block can take this version of a withdrawal any more, as enough nodes say", nothing],
  "withdrawal-ended": ["gateway", "info", "a withdrawal ended, by what the chain shows", nothing],
  "deposit-baseline": [
    "gateway",
    "warn",
    "something lay on a deposit address before anybody could pay to it; it is not credited",
    "see whether this wallet or xpub is used elsewhere",
  ],
  "deposit-unborne": [
    "gateway",
    "warn",
    "a receipt names coins for a deposit address that its final balance does not show; they are not credited",
    "nothing; if it repeats, compare that node with another",
  ],
  "deposit-changed": ["gateway", "info", "a deposit moved on", nothing],
  "deposit-late": ["gateway", "info", "a deposit was paid after its end", "settle it with the customer"],
  "callback-off": [
    "gateway",
    "warn",
    "a callback target answered 410 and is switched off",
    "ask the merchant; `callbacks test` switches it on again",
  ],
  "callback-given-up": [
    "gateway",
    "warn",
    "a callback was given up after its last try",
    "see `callbacks deliveries`, then redeliver",
  ],
  "callback-full": ["gateway", "warn", "too much waits for a callback target; newer events are given up", "ask the merchant"],
  "callbacks-unstored": ["gateway", "warn", "outcomes of callbacks could not be stored; it is tried again", "look at the disk"],
  "link-failed": ["gateway", "info", "an agent's connection broke", nothing],
  "link-closed": ["gateway", "info", "the gateway closed an agent's connection, see `reason`", nothing],
  "frame-refused": ["gateway", "warn", "a frame of an agent was refused", "look `code` up in docs/errors.md"],
  "agent-behind": ["gateway", "error", "an agent's ledger is older than what was acknowledged, or another", "docs/recovering.md"],
  "agent-whole": ["gateway", "info", "an agent's ledger is whole again", nothing],
  "agent-again": ["gateway", "info", "an agent has to say its statements again", nothing],
  "agent-stopped": ["gateway", "error", "an agent was stopped, see `code`", "docs/recovering.md, by `code`"],
  "agent-stopped-again": ["gateway", "warn", "an agent was stopped again for the same reason", "docs/recovering.md, by `code`"],
  "agent-alarm": ["gateway", "error", "an agent raised an alarm, see `code`", "look `code` up in docs/errors.md"],
  "agent-recovered": ["gateway", "info", "an agent was recovered", nothing],
  "recovery-offered": ["gateway", "info", "a recovery was offered to an agent", "the agent's operator types recover"],
  "statements-unstored": ["gateway", "error", "statements could not be stored; the agent sends them again", "look at the disk"],
  "note-unstored": ["gateway", "warn", "a note of the hub could not be stored; it comes again", "look at the disk"],
  "store-failed": ["gateway", "error", "the database failed while committing; the process ends", "look at the disk"],
  "reserved-mended": [
    "gateway",
    "error",
    "reserved sums were counted again at start: they were wrong",
    "tell the developers, with the log before it",
  ],
  "holdings-mended": [
    "gateway",
    "error",
    "what addresses for deposits hold was counted again at start: it was wrong",
    "tell the developers, with the log before it",
  ],
  "database-put-back": [
    "gateway",
    "warn",
    "the database is older than what is known outside it: deposits wait until it has caught up",
    "docs/recovering.md, section 2",
  ],
  "addresses-skipped": [
    "gateway",
    "warn",
    "addresses that an agent's ledger says may have left are skipped and watched",
    "docs/recovering.md, section 2",
  ],
  "skipped-watched": ["gateway", "info", "every address that was skipped is watched; the chains are read again", nothing],
  "skipped-unwatched": [
    "gateway",
    "error",
    "skipped addresses could not be watched, see `code`; it is tried again, and no deposit is taken meanwhile",
    "make room on the disk, or do what the hint of the code says",
  ],
  "database-caught-up": ["gateway", "info", "a database that was put back has caught up; deposits are taken again", nothing],
  "sweep-ordered": ["gateway", "info", "what an address for deposits holds goes to the hot account", nothing],
  "books-closed": ["gateway", "info", "the books of a chain were closed: every balance was compared", nothing],
  "books-differ": [
    "gateway",
    "error",
    "an account holds another balance than the database explains, see `about`",
    "see reconcile --last and docs/operations.md: look the address up from the block named there",
  ],
  "books-incoming": ["gateway", "info", "money came to a hot wallet from outside: it was no sweep", nothing],
  "books-unclosed": [
    "gateway",
    "warn",
    "the books of a chain could not be closed, see `code`; it is tried again",
    "look at the chain's nodes if it comes often",
  ],
  "price-source-failed": [
    "gateway",
    "warn",
    "a source of prices failed, see `why`; it is asked again",
    "nothing while others answer",
  ],
  "price-source-answers": ["gateway", "info", "a source of prices answers again", nothing],
  "price-stale": [
    "gateway",
    "warn",
    "no two sources agree on a price: the last one holds and is stale",
    "see why: gateway prices; type a price meanwhile, if quotes are needed",
  ],
  "price-fresh": ["gateway", "info", "the sources agree on a price again", nothing],
  "prices-unsaved": ["gateway", "warn", "prices could not be stored; they hold until the process ends", "look at the disk"],
  "currency-back": ["gateway", "info", "a currency is in service again: its contract confirms its decimals", nothing],
  "currency-out": [
    "gateway",
    "warn",
    "one currency is out of service: its contract does not confirm its decimals",
    "look at its contract and decimals in the configuration; its deposits are recorded, and judged once the contract answers",
  ],
  "chain-read": ["gateway", "info", "a chain is read, or read again", nothing],
  "chain-unread": [
    "gateway",
    "warn",
    "a chain cannot be read, see `code`",
    "look at its nodes; nothing of it is Completed meanwhile",
  ],
  "chain-alarm": [
    "gateway",
    "error",
    "the chain contradicts what is in the database, see `code`",
    "look `code` up in docs/errors.md",
  ],
  reorganised: ["gateway", "info", "a block was reorganised away", nothing],
  "entry-unknown": [
    "gateway",
    "warn",
    "a block lists an amount for a deposit address with a note (`detail`) that moves no coins, such as staked coins that a contract delegates; it counts as nothing",
    "nothing; the balance of the address shows what came",
  ],
  "node-failed": ["gateway", "warn", "a node failed once", "nothing while others answer"],
  "node-recovered": ["gateway", "info", "a node that had failed answers again", nothing],
  "node-wrong-chain": [
    "gateway",
    "error",
    "a node is of another chain than gateway.config.json says",
    "correct nodes or chainId",
  ],
  "metrics-listen": ["gateway", "info", "metrics are served", nothing],
  "metrics-failed": ["gateway", "warn", "metrics cannot be served there; it is tried again", "free the port, or name another"],
  "notice-told": ["gateway", "info", "somebody was told of an event by `alerts`", nothing],
  "notice-failed": [
    "gateway",
    "warn",
    "the command or address of `alerts` failed; it is tried again",
    "run the command by hand, see docs/events.md",
  ],
  "notice-dropped": ["gateway", "error", "an event was given up: too many failures, or too many waiting", "mend `alerts`"],
});

/** @public */
export type AgentEvent = keyof typeof agentEvents;
