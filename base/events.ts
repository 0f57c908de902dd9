/**
 * Every event that a log line of the agent may name; the gateway's stand in events-gateway.ts. The
 * `event` of a line is one of these names, and its level is the table's. docs/events.md has the
 * same rows. Events for `notify` and `alerts` stand in alerts/queue/table.ts. Pure.
 */
import { eventTable, nothing } from "./event-row.ts";

/** The events of signer, courier and the launcher `crypto`. */
export const agentEvents = eventTable({
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
    "see why: journalctl -u autowithdraw-signer",
  ],
  "signer-answers": ["courier", "info", "the signer answers; a run begins", nothing],
  "agent-paused": [
    "courier",
    "info",
    "an operator paused the signer or resumed it, see `paused`",
    "resume, when signing may go on",
  ],
  "agent-locked": ["courier", "error", "the signer says that it is locked", "docs/recovering.md, by `code`"],
  "agent-recovered": ["courier", "info", "the ledger was recovered; all begins again with its new epoch", nothing],
  "account-code": [
    "courier",
    "error",
    "the hot wallet has code (EIP-7702), or its own key alone signs nothing any more, by `code`",
    "look `code` up in docs/errors.md; move the funds",
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
  "coin-unused": [
    "courier",
    "warn",
    "a coin of the hot wallet is not used: the transaction that made it is too long to prove its amount (`detail`)",
    "move the coin with another wallet of the same mnemonic",
  ],
  "link-up": ["courier", "info", "the link to the gateway is up and the signer took the welcome", nothing],
  "link-down": ["courier", "warn", "the link to the gateway is down, see `code` and `detail`", "nothing, unless it stays down"],
  "link-retry": ["courier", "debug", "another try at the link failed for the same reason", nothing],
  "recovery-refused": [
    "courier",
    "warn",
    "the signer did not take the gateway's recovery offer",
    "look `code` up in docs/errors.md",
  ],
  "frame-refused": ["courier", "warn", "the signer did not take a frame of the gateway", "look `code` up in docs/errors.md"],
  "withdrawal-approved": ["courier", "debug", "a withdrawal was admitted and approved", nothing],
  "withdrawal-admitted": ["courier", "info", "a withdrawal was admitted, held or refused", "for held: approve or refuse it"],
  "withdrawal-signed": ["courier", "info", "a withdrawal was signed", nothing],
  "withdrawal-replaced": [
    "courier",
    "info",
    "a withdrawal was signed again: with a higher fee, or since all attempts before are void",
    nothing,
  ],
  "withdrawal-final": ["courier", "info", "a withdrawal has ended", nothing],
  "signer-refused": ["courier", "debug", "the signer said no to a request; the scheduler asks again or waits", nothing],
  "slot-adopted": ["courier", "info", "the account's first slot was taken from the chain", nothing],
  "slot-count-refused": [
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
  "alert-sent": ["courier", "info", "somebody was told of an event by `notify`", nothing],
  "alert-failed": [
    "courier",
    "warn",
    "the command or address of `notify` failed; it is tried again",
    "run the command by hand, see docs/events.md",
  ],
  "alert-dropped": [
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
  "config-outdated": [
    "crypto",
    "info",
    "the other process goes by a newer config.json: this one ends and starts again with it",
    nothing,
  ],
  "config-refused": ["crypto", "warn", "a changed config.json was not taken", "do what the message says"],
  "folder-foreign": ["crypto", "warn", "root runs crypto on another user's state folder", "run it as that user, or by the units"],
  "service-manager-away": ["crypto", "warn", "systemd cannot be told that this runs", "look whether systemd-notify is there"],
  "environment-ignored": ["crypto", "warn", "a variable that can bring foreign code is set", "unset it"],
  "trouble-began": ["crypto", "warn", "link, nodes, lock or held withdrawals: see the message", "see status"],
  "trouble-over": ["crypto", "info", "what was told before is over", nothing],
  stopped: ["crypto", "info", "crypto ended as it was told", nothing],
});

export type AgentEvent = keyof typeof agentEvents;
