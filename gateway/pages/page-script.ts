/**
 * The one script of the payment page: copy buttons, the time left, times in the reader's own zone,
 * and a look for changes. The server renders each change; the script only puts it in the place of
 * the old one. The page says the same without it.
 */

export const pageScript = `(() => {
"use strict";
const find = (id) => document.getElementById(id);
const all = (query) => [...document.querySelectorAll(query)];
const said = find("said"), lost = find("lost");
let failures = 0, timer = 0;
// The server's time, because the reader's clock may be wrong.
let begun = 0;
const keepTime = (nowMs) => { begun = Number(nowMs) - performance.now(); };

function tick() {
  for (const left of all("[data-end]")) {
    const minutes = Math.floor((Number(left.dataset.end) - begun - performance.now()) / 60000);
    left.textContent = minutes < 1 ? left.dataset.last : left.dataset.many.replace("{}", String(minutes));
  }
}

function dress() {
  for (const button of all("[data-copy]")) button.hidden = false;
  const locale = document.documentElement.lang === "tr" ? "tr-TR" : "en-GB";
  for (const time of all("time")) {
    const at = new Date(time.dateTime);
    time.title = time.textContent;
    time.textContent = new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric", hour: "2-digit",
      minute: "2-digit", timeZoneName: "short" }).format(at);
  }
  tick();
}

// An amount is read with the reader's own comma, and copied with the point that wallets take.
const textOf = (element) => element.dataset.value ?? element.textContent;

function copyBySelection(element) {
  const selection = getSelection(), shown = element.textContent, { value } = element.dataset;
  if (value !== undefined) element.textContent = value;
  selection.selectAllChildren(element);
  const done = document.execCommand("copy");
  selection.removeAllRanges();
  if (value !== undefined) element.textContent = shown;
  return done;
}

async function copy(button) {
  const source = find(button.dataset.copy);
  let done = true;
  try { await navigator.clipboard.writeText(textOf(source)); } catch { done = copyBySelection(source); }
  if (!done) return;
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  button.textContent = button.dataset.copied;
  said.textContent = button.dataset.copied;
  setTimeout(() => { button.textContent = label; said.textContent = ""; }, 2000);
}

function put(text) {
  const next = new DOMParser().parseFromString(text, "text/html");
  const live = next.getElementById("live");
  if (live === null) return;
  const face = document.querySelector("[name=face]:checked")?.id, focus = document.activeElement?.id;
  const title = (of) => of.querySelector("h2")?.textContent;
  const before = title(find("live"));
  find("live").replaceWith(live);
  document.title = next.title;
  const kept = face && find(face);
  if (kept) kept.checked = true;
  keepTime(live.dataset.now);
  dress();
  if (focus) find(focus)?.focus({ preventScroll: true });
  if (title(live) !== before) said.textContent = title(live);
}

async function look() {
  clearTimeout(timer);
  const live = find("live");
  const every = Number(live.dataset.look) * 1000;
  if (every === 0) return;
  let wait = every;
  if (!document.hidden) {
    try {
      const place = location.pathname;
      const answer = await fetch(place + "/state", { cache: "no-store" });
      if (answer.status === 429) wait = 1000 * Number(answer.headers.get("retry-after") || 10);
      else if (!answer.ok) throw new Error();
      else {
        const { mark, now } = await answer.json();
        keepTime(now);
        if (mark !== live.dataset.mark) {
          const page = await fetch(location.href, { cache: "no-store" });
          if (page.ok) put(await page.text());
        }
      }
      failures = 0;
    } catch {
      failures += 1;
      wait = Math.min(30000, every * 2 ** failures);
    }
    lost.hidden = failures < 2;
    tick();
  }
  timer = setTimeout(look, wait);
}

addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copy]") : null;
  if (button) copy(button);
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
if (find("live")) {
  keepTime(find("live").dataset.now);
  dress();
  look();
}
})();
`;
