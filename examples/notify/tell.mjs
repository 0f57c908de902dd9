#!/usr/bin/env node
/**
 * Hands one notice of the agent (`notify.command`) or of the gateway (`alerts.command`) to a person:
 * by ntfy, by a Telegram bot, or by mail through an SMTP relay. The notice is one line of JSON on
 * stdin. The argument is a file of settings, because arguments are visible to every user of the
 * machine. Exit: 0 delivered; 1 not delivered, the notice comes again; 2 wrong settings.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { hostname } from "node:os";

const timeoutMs = 8_000; // the sender waits ten seconds
const linesMax = 64;

/** Title and text of a notice, for a small screen. */
export function wordsOf(notice) {
  const mark = notice.event.endsWith("-over")
    ? "over"
    : notice.again
      ? "again"
      : (notice.gravity ?? notice.level);
  const lines = [
    notice.message,
    notice.hint ? `do: ${notice.hint}` : "",
    `since ${notice.since}, ${notice.process}`,
  ];
  return {
    title: `${notice.event} (${mark})`,
    text: lines.filter((line) => line !== "").join("\n"),
  };
}

async function post(url, headers, body) {
  const answer = await fetch(url, {
    method: "POST",
    headers,
    body,
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
}

/** What a notice is worth: a sender of before it had a gravity gives its level alone. */
const priorities = { wake: "urgent", broken: "high", warning: "default" };
const olderPriorities = { error: "urgent", warn: "high", info: "default" };

function ntfy({ url, token = "" }, { title, text }, { gravity, level }) {
  const priority = priorities[gravity] ?? olderPriorities[level] ?? "default";
  const authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
  return post(url, { title, priority, ...authorization }, text);
}

function telegram({ token, chat, api = "https://api.telegram.org" }, { title, text }) {
  const body = JSON.stringify({
    chat_id: chat,
    text: `${title}\n${text}`,
    disable_web_page_preview: true,
  });
  return post(`${api}/bot${token}/sendMessage`, { "content-type": "application/json" }, body);
}

/** A line that begins with a point has one more, and headers are ASCII. RFC 5321 section 4.5.2. */
function letterOf({ from, to }, { title, text }) {
  const subject = title.replace(/[^\x20-\x7e]/g, "?");
  const head = [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString()}`,
  ];
  const type = [
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: 8bit",
  ];
  return [
    ...head,
    ...type,
    "",
    ...text.split("\n").map((line) => (line.startsWith(".") ? `.${line}` : line)),
    ".",
  ].join("\r\n");
}

/** One letter to a relay that takes it without a login, such as this machine's own. RFC 5321. */
function mail(settings, words) {
  const { relay = "127.0.0.1", port = 25, from, to } = settings;
  const steps = [
    `EHLO ${hostname()}`,
    `MAIL FROM:<${from}>`,
    `RCPT TO:<${to}>`,
    "DATA",
    letterOf(settings, words),
    "QUIT",
  ];
  return new Promise((resolve, reject) => {
    const socket = connect({ host: relay, port });
    const fail = (why) => {
      socket.destroy();
      reject(new Error(why));
    };
    socket.setTimeout(timeoutMs, () => fail("the relay does not answer"));
    socket.on("error", (error) => fail(error.code ?? "no connection"));
    socket.on("close", () => fail("the relay closed the connection"));
    let at = 0;
    let text = "";
    socket.on("data", (part) => {
      text = (text + part.toString("latin1")).slice(-65_536);
      const last = /^(\d{3}) .*\r\n$/m.exec(text.split("\r\n").slice(-2).join("\r\n"));
      if (last === null) return;
      text = "";
      if (!/^[23]/.test(last[1])) return fail(`the relay answered ${last[1]}`);
      // The answer to the letter itself: it is the relay's from now on.
      if (at === steps.length - 1) {
        socket.removeAllListeners("close");
        socket.end("QUIT\r\n");
        return resolve();
      }
      socket.write(`${steps[at]}\r\n`);
      at += 1;
    });
  });
}

const ways = { ntfy, telegram, mail };
const needed = { ntfy: ["url"], telegram: ["token", "chat"], mail: ["from", "to"] };

function settingsOf(path) {
  const settings = JSON.parse(readFileSync(path, "utf8"));
  if (!Object.hasOwn(ways, settings.by))
    throw new Error(`"by" must be one of ${Object.keys(ways).join(", ")}`);
  const missing = needed[settings.by].find(
    (name) => typeof settings[name] !== "string" || settings[name] === "",
  );
  if (missing !== undefined) throw new Error(`"${missing}" is missing`);
  for (const name of ["from", "to"])
    if (/[^\x21-\x7e]|[<>]/.test(settings[name] ?? "")) throw new Error(`"${name}" is no address`);
  return settings;
}

async function main(path) {
  let settings;
  try {
    settings = settingsOf(path);
  } catch (error) {
    process.stderr.write(`tell: ${path ?? "no file"}: ${error.message}\n`);
    return 2;
  }
  try {
    const [line = ""] = readFileSync(0, "utf8").split("\n", linesMax);
    const notice = JSON.parse(line);
    await ways[settings.by](settings, wordsOf(notice), notice);
    return 0;
  } catch (error) {
    // No address and no token in the words: they reach the log.
    process.stderr.write(
      `tell: not delivered by ${settings.by}: ${error.cause?.code ?? error.message}\n`,
    );
    return 1;
  }
}

process.exitCode = await main(process.argv[2]);
